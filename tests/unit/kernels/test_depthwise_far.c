/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise and grouped convolutions of large tensors. */
#include "product_case.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* Tensors so large that lines are fetched ahead. A window of one row has stride 1 down the rows. */
typedef struct far_case {
    int64_t groups, each, height, width, high, wide, stride;
    case_layout layout;
    const char *kernels;
} far_case;

static const far_case far_cases[] = {
    {24, 1, 310, 311, 3, 3, 1, CASE_CHANNELS_LAST, "depthwise_nhwc"}, /* two lines a block */
    /* one row, less than the rows of a step */
    {40, 1, 1, 80001, 1, 3, 2, CASE_CHANNELS_LAST, "depthwise_nhwc"},
    {10, 2, 335, 335, 1, 3, 1, CASE_CHANNELS_LAST, "depthwise_nhwc"}, /* permuted channels */
    {5, 4, 235, 235, 3, 3, 1, CASE_ROW_MAJOR, "staged"},              /* groups of planes */
    /* strips, and rows that roll down */
    {5, 1, 180, 181, 3, 3, 1, CASE_ROW_MAJOR, "depthwise_nchw"},
    {5, 1, 650, 651, 3, 3, 2, CASE_ROW_MAJOR, "depthwise_nchw"},
    {7, 1, 190, 181, 5, 5, 2, CASE_ROW_MAJOR, "depthwise_nchw"},
};

static void check_far(const far_case *f)
{
    product_case c = {.problem = {.op = RY_OP_conv, .inputs = 3}};
    c.problem.attrs = ry_attrs_default(RY_OP_conv);
    ry_conv_attrs *a = &c.problem.attrs.conv;
    a->groups = f->groups;
    a->stride = (ry_ints){2, {f->high == 1 ? 1 : f->stride, f->stride}};
    a->pads = (ry_ints){4, {f->high / 2, f->wide / 2, f->high / 2, f->wide / 2}};
    const int64_t channels = f->groups * f->each, x[4] = {1, channels, f->height, f->width};
    const int64_t w[4] = {channels, f->each, f->high, f->wide},
                  y[4] = {1, channels, (f->height - 1) / a->stride.at[0] + 1,
                          (f->width - 1) / f->stride + 1};
    c.in[0] = case_tensor(RY_f32, 4, x, f->layout);
    c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
    c.out[0] = case_tensor(RY_f32, 4, y, f->layout);
    c.terms = (double)(f->each * f->high * f->wide);
    case_fill(&c);
    const int checked = case_check_some(&c, "conv_ref", f->kernels);
    case_free(&c);
    assert_true(checked > 0);
}

static void test_far(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof far_cases / sizeof *far_cases; i++) {
        check_far(&far_cases[i]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_far)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
