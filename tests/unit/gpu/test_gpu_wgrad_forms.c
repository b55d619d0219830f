/* SPDX-License-Identifier: Apache-2.0 */
/* Weight gradients of GPUs in some forms and every layout, with the bias' gradient; and of very
 * many terms. */
#include "gpu_run.h"
#include "kernel_case.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const kernels[] = {"conv_bwd_weights_f32_igemm_gpu",
                                      "conv_bwd_weights_f32_depthwise_gpu"};
enum { KERNELS = sizeof kernels / sizeof *kernels };

/* Some of a kernel's forms, far apart in their list, in every layout. */
static void check_forms(kernel_case *c, const char *name)
{
    enum { APART = 3 };
    const ry_kernel *kernel = every_kernel_find(name);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    const ry_query query = {kernel, &problem, gpu_run_target(), NULL};
    ry_form form;
    for (size_t i = 0; ry_form_at(&query, i, &form); i += APART) {
        c->form = &form;
        kernel_case_check(c, name, 2e-6);
    }
    c->form = NULL;
    kernel_case_check(c, name, 2e-6);
}

static void test_forms(void **state)
{
    (void)state;
    static const char *const problems[] = {
        "conv n=2 c=23 h=9 w=13 k=137 r=3 s=3 pad=1 dir=bwd_weights bias=1",
        "conv n=3 c=37 h=14 w=13 k=37 r=3 s=3 pad=1 groups=37 dir=bwd_weights bias=1",
        "conv n=2 c=6 h=12 w=11 k=9 r=5 s=7 pad=2,3 stride=2,1 groups=3 dir=bwd_weights bias=1",
    };
    gpu_run_need();
    int checked = 0;
    for (size_t i = 0; i < sizeof problems / sizeof *problems; i++) {
        kernel_case c;
        kernel_case_parse(&c, problems[i]);
        for (int k = 0; k < KERNELS; k++) {
            if (kernel_case_applicable(&c, every_kernel_find(kernels[k]), CASE_NCHW)) {
                check_forms(&c, kernels[k]);
                checked++;
            }
        }
        kernel_case_end(&c);
    }
    assert_int_equal(checked, 5);
}

/* Copied tiles with the bias' gradient, whose groups follow those of two tiles of rows. */
static void test_bias_behind_copied_tiles(void **state)
{
    (void)state;
    static const char name[] = "conv_bwd_weights_half_units_gpu";
    gpu_run_need();
    const ry_kernel *kernel = every_kernel_find(name);
    kernel_case c;
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    kernel_case_parse(&c, "conv n=8 c=16 h=5 w=6 k=140 r=1 s=1 dir=bwd_weights bias=1 dtype=f16");
    const ry_problem problem = kernel_case_problem(&c, CASE_NHWC, in, out);
    const ry_query query = {kernel, &problem, gpu_run_target(), NULL};
    ry_form form;
    int checked = 0;
    for (size_t at = 0; gpu_run_target()->machine->matrix_units && ry_form_at(&query, at, &form);
         at++) {
        if (form.value[1] <= 2 &&
            strncmp(kernel->knobs[0].words[form.value[0]], "copied", 6) == 0) {
            c.form = &form;
            kernel_case_check(&c, name, 2e-3);
            checked++;
        }
    }
    kernel_case_end(&c);
    assert_int_equal(checked, gpu_run_target()->machine->matrix_units ? 8 : 0);
}

/* Sums of very many terms, which are short ones joined. */
static void test_long_sums(void **state)
{
    (void)state;
    gpu_run_need();
    kernel_case c;
    kernel_case_parse(&c, "conv n=2 c=2 h=151 w=150 k=3 r=3 s=3 pad=1 dir=bwd_weights bias=1");
    for (int k = 0; k < KERNELS; k++) {
        kernel_case_check(&c, kernels[k], 5e-6);
    }
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_forms),
        cmocka_unit_test(test_bias_behind_copied_tiles),
        cmocka_unit_test(test_long_sums),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
