/* SPDX-License-Identifier: Apache-2.0 */
/* Every kernel of the list against the reference, on odd shapes, in every layout that it takes. A
 * kernel of an operator that has a reference, but that no problem of the table
 * (every_problem.c) reaches, fails: a new kernel
 * needs a problem that it is applicable to. */
#include "every_problem.h"
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void agree_with_the_reference(void **state)
{
    bool *covered = *state;
    for (size_t i = 0; i < every_problem_count; i++) {
        const every_problem *row = &every_problems[i];
        kernel_case c;
        kernel_case_parse(&c, row->problem);
        const int kernels = kernel_case_check_all(&c, row->bound, covered);
        if ((kernels == 0) != (row->bound == EVERY_PROBLEM_REFERENCE)) {
            fail_msg("%d kernels beside the reference for %s", kernels, row->problem);
        }
        kernel_case_end(&c);
    }
}

static bool has_reference(ry_op op)
{
    char name[64];
    snprintf(name, sizeof name, "%s_ref", ry_op_name(op));
    return op != RY_OP_expr && every_kernel_find(name);
}

/* Expressions have a test of their own, against the definition of each of their operations. */
static void all_are_reached(void **state)
{
    const bool *covered = *state;
    int missing = 0;
    for (size_t i = 0; i < every_kernel_count(); i++) {
        if (every_kernel(i)->device == RY_DEVICE_cpu && has_reference(every_kernel(i)->op) &&
            kernel_case_machine_has(every_kernel(i)->isa) && !covered[i]) {
            print_error("no problem reaches %s\n", every_kernel(i)->name);
            missing++;
        }
    }
    assert_int_equal(missing, 0);
}

/* Tests of kernels pass over what this machine cannot run: it is told of here, once. */
static void all_can_run_here(void **state)
{
    (void)state;
    int missing = 0;
    for (ry_isa isa = 0; isa < RY_ISAS; isa++) {
        int kernels = 0;
        for (size_t i = 0; i < every_kernel_count(); i++) {
            kernels += every_kernel(i)->isa == isa;
        }
        if (kernels && !kernel_case_machine_has(isa)) {
            print_message("skipped: this machine has no %s: %d kernels do not run\n",
                          ry_isa_name(isa), kernels);
            missing++;
        }
    }
    if (missing) {
        skip();
    }
}

static int begin(void **state)
{
    *state = calloc(every_kernel_count(), sizeof(bool));
    return *state ? 0 : -1;
}

static int end(void **state)
{
    free(*state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agree_with_the_reference),
        cmocka_unit_test(all_are_reached),
        cmocka_unit_test(all_can_run_here),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
