/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of GPUs against the reference, on the problems that the CPU's are held to, in every
 * layout that they take; each kernel once in every form. Convolutions, products and expressions,
 * whose texts are larger, have tests of their own, which this one is not to repeat. */
#include "every_problem.h"
#include "gpu_run.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static bool has_own_test(ry_op op)
{
    return op == RY_OP_conv || op == RY_OP_convt || op == RY_OP_qconv || op == RY_OP_matmul ||
           op == RY_OP_expr;
}

/* A copy has no reference: what transposes and slices do is the same. */
static bool is_ours(const ry_kernel *kernel)
{
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(kernel->op));
    return kernel->device == RY_DEVICE_gpu && !has_own_test(kernel->op) && every_kernel_find(name);
}

/* One of the layouts is enough. */
static bool takes(const kernel_case *c, const ry_kernel *kernel)
{
    for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
        if (kernel_case_applicable(c, kernel, layout)) {
            return true;
        }
    }
    return false;
}

static void agree_with_the_reference(void **state)
{
    (void)state;
    gpu_run_need();
    bool *covered = calloc(every_kernel_count(), sizeof *covered);
    assert_non_null(covered);
    for (size_t i = 0; i < every_problem_count; i++) {
        const double bound = every_problems[i].bound;
        kernel_case c;
        kernel_case_parse(&c, every_problems[i].problem);
        for (size_t k = 0; k < every_kernel_count(); k++) {
            const ry_kernel *kernel = every_kernel(k);
            if (is_ours(kernel) && kernel->op == c.op && takes(&c, kernel)) {
                c.forms = !covered[k];
                covered[k] = true;
                kernel_case_check(&c, kernel->name, bound < 0 ? 2e-6 : bound);
            }
        }
        kernel_case_end(&c);
    }
    for (size_t k = 0; k < every_kernel_count(); k++) {
        if (is_ours(every_kernel(k)) && !covered[k]) {
            fail_msg("no problem reaches %s", every_kernel(k)->name);
        }
    }
    free(covered);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(agree_with_the_reference)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
