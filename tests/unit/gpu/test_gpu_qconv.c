/* SPDX-License-Identifier: Apache-2.0 */
/* The quantised convolutions of GPUs have the reference's bits, with bytes of the whole range, in
 * every layout, with guards around every operand. */
#include "every_kernel.h"
#include "gpu_run.h"
#include "qconv_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct check {
    const char *kernel;
    qconv_kind kind;
    qconv_case shapes;
} check;

#define PADDED                                                              \
    {                                                                       \
        "2x24x9x5", "37x24x3x3", "2x37x9x5", {4, {1, 1, 1, 1}}, {0}, {0}, 1 \
    }
#define STRIDED                                                                              \
    {                                                                                        \
        "1x16x12x13", "24x4x3x2", "1x24x6x5", {4, {0, 1, 2, 0}}, {2, {2, 3}}, {2, {2, 1}}, 4 \
    }
#define FIRST                                                                         \
    {                                                                                 \
        "1x3x21x19", "17x3x7x7", "1x17x11x10", {4, {3, 3, 3, 3}}, {2, {2, 2}}, {0}, 1 \
    }
#define PRODUCT                                           \
    {                                                     \
        "5x300x1", "70x300x1", "5x70x1", {0}, {0}, {0}, 1 \
    }

/* Compilers take a second for each. */
static const check checks[] = {
    {"qconv_igemm_gpu", QCONV_RESIDUAL, STRIDED},
    {"qconv_igemm_gpu", QCONV_BYTES, FIRST},
    {"qconv_panels_gpu", QCONV_RESIDUAL, PADDED},
    {"qconv_panels_gpu", QCONV_FLOATS, STRIDED},
    {"qconv_units_gpu", QCONV_BYTES, FIRST},
    {"qconv_units_gpu", QCONV_FLOATS, STRIDED},
    {"qconv_units_gpu", QCONV_RESIDUAL, PADDED},
    {"qconv_units_gpu", QCONV_SUMS, PRODUCT},
    {"qconv_depthwise_gpu",
     QCONV_BYTES,
     {"2x37x12x10", "37x1x5x5", "2x37x6x5", {4, {2, 2, 2, 2}}, {2, {2, 2}}, {0}, 37}},
    {"qconv_depthwise_gpu",
     QCONV_SUMS,
     {"1x20x11x13", "20x1x3x2", "1x20x7x12", {4, {0, 0, 0, 1}}, {0}, {2, {2, 2}}, 20}},
};

static bool runs_here(const kernel_case *c, const char *name)
{
    const ry_kernel *kernel = ry_kernel_find(name);
    ry_tensor in[CASE_OPERANDS], out[CASE_OPERANDS];
    const ry_problem problem = kernel_case_problem(c, CASE_NCHW, in, out);
    assert_non_null(kernel);
    return ry_kernel_takes(kernel, &problem, gpu_run_target());
}

static void all_are_exact(void **state)
{
    (void)state;
    gpu_run_need();
    for (uint32_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        kernel_case c;
        qconv_case_begin(&c, &checks[i].shapes, checks[i].kind, i);
        if (runs_here(&c, checks[i].kernel)) {
            kernel_case_check(&c, checks[i].kernel, 0);
        }
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(all_are_exact)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
