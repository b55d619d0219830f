/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution kernels against the reference on random odd shapes: any rank, stride, dilation,
 * groups, padding, layout, type, epilogue. */
#include "random_conv.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void check_many(int count, conv_limits l)
{
    int checked = 0;
    for (int i = 0; i < count; i++) {
        product_case c;
        if (random_conv(&c, &l)) {
            case_fill(&c);
            checked += case_check_all(&c, l.transposed ? "convt_ref" : "conv_ref");
            case_free(&c);
        }
    }
    assert_true(checked > count / 4);
}

static void test_small(void **state)
{
    (void)state;
    check_many(300, (conv_limits){.channels = 9, .size = 12, .kernel = 5, .dtype = RY_f32});
}

static void test_channels(void **state)
{
    (void)state;
    check_many(60, (conv_limits){.channels = 70, .size = 12, .kernel = 3, .dtype = RY_f32});
}

static void test_large_images(void **state)
{
    (void)state;
    check_many(60, (conv_limits){.channels = 5, .size = 40, .kernel = 11, .dtype = RY_f32});
}

static void test_plain(void **state)
{
    (void)state;
    check_many(
        60, (conv_limits){.channels = 33, .size = 24, .kernel = 3, .dtype = RY_f32, .plain = true});
}

/* Products of x itself, of every tile: few pixels and many, few channels and many, images apart and
 * together. */
static void test_pointwise(void **state)
{
    (void)state;
    check_many(
        150,
        (conv_limits){.channels = 70, .size = 9, .kernel = 1, .dtype = RY_f32, .pointwise = true});
    check_many(
        40,
        (conv_limits){.channels = 450, .size = 6, .kernel = 1, .dtype = RY_f32, .pointwise = true});
    check_many(
        60,
        (conv_limits){.channels = 30, .size = 40, .kernel = 1, .dtype = RY_f32, .pointwise = true});
    check_many(
        60,
        (conv_limits){.channels = 40, .size = 12, .kernel = 1, .dtype = RY_i32, .pointwise = true});
}

/* Strides that permutations bridge, and larger ones; rows of a few outputs, and of more than a
 * vector; kernels of 1x1 among them. */
static void test_strided(void **state)
{
    (void)state;
    check_many(
        100, (conv_limits){.channels = 70, .size = 17, .kernel = 3, .dtype = RY_f32, .stride = 5});
    check_many(60,
               (conv_limits){.channels = 9, .size = 90, .kernel = 4, .dtype = RY_f32, .stride = 4});
    check_many(
        40, (conv_limits){.channels = 9, .size = 150, .kernel = 11, .dtype = RY_f32, .stride = 18});
    check_many(
        40, (conv_limits){.channels = 40, .size = 60, .kernel = 1, .dtype = RY_f32, .stride = 4});
    check_many(
        40, (conv_limits){.channels = 20, .size = 60, .kernel = 3, .dtype = RY_f16, .stride = 6});
    check_many(
        40, (conv_limits){.channels = 20, .size = 60, .kernel = 3, .dtype = RY_bf16, .stride = 6});
    check_many(
        30, (conv_limits){.channels = 20, .size = 60, .kernel = 3, .dtype = RY_i32, .stride = 6});
}

static void test_transposed(void **state)
{
    (void)state;
    check_many(
        200,
        (conv_limits){.channels = 12, .size = 9, .kernel = 5, .dtype = RY_f32, .transposed = true});
}

static void test_biases_of_phases(void **state)
{
    (void)state;
    check_many(150, (conv_limits){.channels = 40,
                                  .size = 12,
                                  .kernel = 7,
                                  .dtype = RY_f32,
                                  .transposed = true,
                                  .phases = true});
    check_many(30, (conv_limits){.channels = 12,
                                 .size = 9,
                                 .kernel = 5,
                                 .dtype = RY_f16,
                                 .transposed = true,
                                 .phases = true});
    check_many(30, (conv_limits){.channels = 12,
                                 .size = 9,
                                 .kernel = 5,
                                 .dtype = RY_i32,
                                 .transposed = true,
                                 .phases = true});
}

static void test_f16(void **state)
{
    (void)state;
    check_many(100, (conv_limits){.channels = 20, .size = 12, .kernel = 5, .dtype = RY_f16});
}

static void test_bf16(void **state)
{
    (void)state;
    check_many(100, (conv_limits){.channels = 20, .size = 12, .kernel = 5, .dtype = RY_bf16});
    check_many(30,
               (conv_limits){
                   .channels = 12, .size = 9, .kernel = 4, .dtype = RY_bf16, .transposed = true});
}

static void test_i32(void **state)
{
    (void)state;
    check_many(100, (conv_limits){.channels = 20, .size = 12, .kernel = 5, .dtype = RY_i32});
    check_many(
        30,
        (conv_limits){.channels = 12, .size = 9, .kernel = 4, .dtype = RY_i32, .transposed = true});
}

/* Rows of x that meet in one set of the first-level cache. */
static void test_aliased(void **state)
{
    (void)state;
    for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
        product_case c = {.problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_conv, .inputs = 4}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        const int64_t x[4] = {2, 1024, 5, 5}, w[4] = {45, 1024, 1, 1}, y[4] = {2, 45, 5, 5};
        c.in[0] = case_tensor(RY_f32, 4, x, (case_layout)layout);
        c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
        c.out[0] = case_tensor(RY_f32, 4, y, (case_layout)layout);
        c.terms = 1024;
        case_fill(&c);
        assert_true(case_check_all(&c, "conv_ref") > 0);
        case_free(&c);
    }
}

/* One tap over planes that come from memory: tiles fetch those behind the next ones, and for one
 * output channel few channels of x are read at a time. */
static void test_streamed(void **state)
{
    (void)state;
    for (int64_t groups = 1; groups < 4; groups++) {
        product_case c = {.problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_conv, .inputs = 4}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.groups = groups;
        const int64_t outputs = groups == 2 ? 7 * groups : groups;
        const int64_t x[4] = {1, 18, 343, 341}, w[4] = {outputs, 18 / groups, 1, 1},
                      y[4] = {1, outputs, 343, 341};
        c.in[0] = case_tensor(RY_f32, 4, x, CASE_ROW_MAJOR);
        c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
        c.out[0] = case_tensor(RY_f32, 4, y, CASE_ROW_MAJOR);
        c.terms = (double)(18 / groups);
        case_fill(&c);
        assert_true(case_check_all(&c, "conv_ref") > 0);
        case_free(&c);
    }
}

/* One tap of many output channels: small tiles copy the pixels of planes to micro-panels, whose
 * last is not whole, and a unit ends before the task does. */
static void test_micropanels(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {
        {64, 250, 16, 66}, {64, 200, 33, 35}, {300, 70, 13, 29}, {37, 7, 3, 5}};
    for (size_t i = 0; i < 2 * sizeof shapes / sizeof *shapes; i++) {
        const int64_t *s = shapes[i / 2];
        product_case c = {.problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_conv, .inputs = 4}};
        c.problem.attrs = ry_attrs_default(RY_OP_conv);
        c.problem.attrs.conv.activation = i % 2 ? RY_activation_silu : RY_activation_relu;
        const int64_t x[4] = {2, s[0], s[2], s[3]}, w[4] = {s[1], s[0], 1, 1},
                      y[4] = {2, s[1], s[2], s[3]};
        c.in[0] = case_tensor(RY_f32, 4, x, CASE_ROW_MAJOR);
        c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
        c.in[2] = case_tensor(RY_f32, 1, w, CASE_ROW_MAJOR);
        c.in[3] = c.out[0] = case_tensor(RY_f32, 4, y, CASE_ROW_MAJOR);
        c.terms = (double)s[0];
        case_fill(&c);
        assert_true(case_check_all(&c, "conv_ref") > 0);
        case_free(&c);
    }
}

/* Reductions longer than a chunk, over channels, over taps, and both. */
static void test_long_sums(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{500, 7, 3, 3},  {1, 40, 40, 1},  {3, 45, 30, 25},
                                        {130, 15, 2, 5}, {900, 33, 1, 1}, {450, 5, 1, 7}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
            product_case c = {
                .problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_conv, .inputs = 4}};
            c.problem.attrs = ry_attrs_default(RY_OP_conv);
            const int64_t k = shapes[i][2], pad = k / 3, q = shapes[i][1] + 2 * pad - k + 1,
                          t = shapes[i][3], p = shapes[i][1] - t + 1 + 2;
            c.problem.attrs.conv.pads = (ry_ints){4, {pad, 1, pad, 1}};
            const int64_t x[4] = {2, shapes[i][0], shapes[i][1], shapes[i][1]},
                          w[4] = {37, shapes[i][0], k, t}, y[4] = {2, 37, q, p};
            c.in[0] = case_tensor(RY_f32, 4, x, (case_layout)layout);
            c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
            c.out[0] = case_tensor(RY_f32, 4, y, (case_layout)layout);
            c.terms = (double)(shapes[i][0] * k * t);
            case_fill(&c);
            assert_true(case_check_all(&c, "conv_ref") > 0);
            case_free(&c);
        }
    }
}

/* Windows that cover all of x. */
static void test_covered(void **state)
{
    (void)state;
    static const int64_t sizes[][2] = {{5, 3}, {1, 7}, {9, 9}, {2, 1}};
    for (int i = 0; i < 16; i++) {
        for (int layout = 0; layout < CASE_LAYOUTS; layout++) {
            product_case c = {
                .problem = {.accuracy = RY_ACCURACY_bf16, .op = RY_OP_conv, .inputs = 4}};
            c.problem.attrs = ry_attrs_default(RY_OP_conv);
            c.problem.attrs.conv.groups = 1 + i / 4 % 2;
            const int64_t r = sizes[i % 4][0], s = sizes[i % 4][1], n = i < 8 ? 1 : 15,
                          groups = c.problem.attrs.conv.groups;
            const int64_t x[4] = {n, 22, r, s}, w[4] = {38, 22 / groups, r, s},
                          y[4] = {n, 38, 1, 1};
            c.in[0] = case_tensor(i % 4 == 3 ? RY_f16 : RY_f32, 4, x, (case_layout)layout);
            c.in[1] = case_tensor(RY_f32, 4, w, CASE_ROW_MAJOR);
            c.out[0] = case_tensor(RY_f32, 4, y, (case_layout)layout);
            c.terms = (double)(22 / groups * r * s);
            case_fill(&c);
            assert_true(case_check_all(&c, "conv_ref") > 0);
            case_free(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),        cmocka_unit_test(test_channels),
        cmocka_unit_test(test_large_images), cmocka_unit_test(test_plain),
        cmocka_unit_test(test_transposed),   cmocka_unit_test(test_f16),
        cmocka_unit_test(test_bf16),         cmocka_unit_test(test_i32),
        cmocka_unit_test(test_long_sums),    cmocka_unit_test(test_pointwise),
        cmocka_unit_test(test_aliased),      cmocka_unit_test(test_strided),
        cmocka_unit_test(test_covered),      cmocka_unit_test(test_streamed),
        cmocka_unit_test(test_micropanels),  cmocka_unit_test(test_biases_of_phases),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
