/* SPDX-License-Identifier: Apache-2.0 */
/* The reference pooling kernels against known values (PyTorch's). */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(list) ((int64_t)(sizeof(list) / sizeof *(list)))

static void maximum_and_where(void **state)
{
    (void)state;
    static const double y[] = {8, 10, 10, 9, 11, 11, 9, 9, 7};
    static const double rows[] = {6, 3, 3, 16, 13, 13, 16, 16, 19},
                        columns[] = {6, 15, 15, 8, 17, 17, 8, 8, 23};
    for (int order = 0; order < 2; order++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_pool);
        c.attrs.pool.kernel = (ry_ints){2, {3, 3}};
        c.attrs.pool.stride = (ry_ints){2, {2, 2}};
        c.attrs.pool.pads = (ry_ints){4, {1, 1, 1, 1}};
        c.attrs.pool.storage_order = order;
        kernel_case_pattern(&c, RY_f32, "1x1x5x5", 7, 23, 1);
        kernel_case_output(&c, RY_f32, "1x1x3x3");
        kernel_case_output(&c, RY_i64, "1x1x3x3");
        kernel_case_known(&c, "pool_ref", y, COUNT(y), 0);
        kernel_case_expect(&c, 1, order ? columns : rows, COUNT(rows), 0);
        kernel_case_end(&c);
    }
}

/* Indices count images and channels too; the first of equals wins; NaN wins over all. */
static void maximum_details(void **state)
{
    (void)state;
    static const double x[] = {1, 1, 0, 5, NAN, 6, -3, -2, -2, 0, 0, 0};
    static const double y[] = {1, 1, NAN, NAN, -2, -2, 0, 0}, where[] = {0, 1, 4, 4, 7, 7, 9, 10};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool);
    c.attrs.pool.kernel = (ry_ints){1, {2}};
    kernel_case_values(&c, RY_f32, "2x2x3", x);
    kernel_case_output(&c, RY_f32, "2x2x2");
    kernel_case_output(&c, RY_i64, "2x2x2");
    kernel_case_known(&c, "pool_ref", y, 8, 0);
    kernel_case_expect(&c, 1, where, 8, 0);
    kernel_case_end(&c);
}

static void maximum_of_bytes_and_of_nothing(void **state)
{
    (void)state;
    static const double x[] = {-128, -127, 5}, y[] = {-128, -127, 5, -128};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool);
    c.attrs.pool.kernel = (ry_ints){1, {1}};
    c.attrs.pool.pads = (ry_ints){2, {0, 1}};
    kernel_case_values(&c, RY_i8, "1x1x3", x);
    kernel_case_output(&c, RY_i8, "1x1x4");
    kernel_case_known(&c, "pool_ref", y, 4, 0);
    kernel_case_end(&c);
}

static void check_average(int64_t include, const double *y)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool);
    c.attrs.pool.kind = RY_pool_kind_average;
    c.attrs.pool.kernel = (ry_ints){2, {2, 2}};
    c.attrs.pool.stride = (ry_ints){2, {2, 2}};
    c.attrs.pool.pads = (ry_ints){4, {1, 1, 1, 1}};
    c.attrs.pool.ceil_mode = 1;
    c.attrs.pool.count_include_pad = include;
    kernel_case_pattern(&c, RY_f32, "1x1x5x5", 7, 23, 1);
    kernel_case_output(&c, RY_f32, "1x1x3x3");
    kernel_case_known(&c, "pool_ref", y, 9, 0);
    kernel_case_end(&c);
}

static void average(void **state)
{
    (void)state;
    static const double with[] = {-2.75, -0.25, 1, -2.25, 0.25, 2.75, -1.75, 1.25, -2};
    static const double without[] = {-11, -0.5, 2, -4.5, 0.25, 2.75, -3.5, 1.25, -2};
    check_average(1, with);
    check_average(0, without);
}

/* A window that rounding up lets hang over the padded end divides by what is in the padded input
 * only. */
static void average_over_the_end(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4}, y[] = {1, 3, 2};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool);
    c.attrs.pool.kind = RY_pool_kind_average;
    c.attrs.pool.kernel = (ry_ints){1, {3}};
    c.attrs.pool.stride = (ry_ints){1, {2}};
    c.attrs.pool.pads = (ry_ints){2, {1, 1}};
    c.attrs.pool.ceil_mode = 1;
    c.attrs.pool.count_include_pad = 1;
    kernel_case_values(&c, RY_f32, "1x1x4", x);
    kernel_case_output(&c, RY_f32, "1x1x3");
    kernel_case_known(&c, "pool_ref", y, 3, 1e-7);
    kernel_case_end(&c);
}

static void lp(void **state)
{
    (void)state;
    static const double y[] = {14.2126704, 13.19090596, 13.92838828, 13.6381817};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool);
    c.attrs.pool.kind = RY_pool_kind_lp;
    c.attrs.pool.kernel = (ry_ints){2, {2, 2}};
    c.attrs.pool.stride = (ry_ints){2, {2, 2}};
    kernel_case_pattern(&c, RY_f32, "1x1x5x5", 7, 23, 1);
    kernel_case_output(&c, RY_f32, "1x1x2x2");
    kernel_case_known(&c, "pool_ref", y, 4, 1e-7);
    kernel_case_end(&c);
}

/* A dilated kernel of ones, as a depthwise convolution, is the average times its size. */
static void dilated_average_is_a_convolution(void **state)
{
    (void)state;
    double ones[18];
    for (int i = 0; i < 18; i++) {
        ones[i] = 1;
    }
    kernel_case pool, conv;
    kernel_case_begin(&pool, RY_OP_pool);
    pool.attrs.pool.kind = RY_pool_kind_average;
    pool.attrs.pool.kernel = (ry_ints){2, {3, 3}};
    pool.attrs.pool.dilation = (ry_ints){2, {2, 1}};
    pool.attrs.pool.pads = (ry_ints){4, {1, 2, 1, 0}};
    pool.attrs.pool.count_include_pad = 1;
    kernel_case_random(&pool, RY_f32, "2x2x6x5", 4);
    kernel_case_output(&pool, RY_f32, "2x2x4x5");
    kernel_case_begin(&conv, RY_OP_conv);
    conv.attrs.conv.groups = 2;
    conv.attrs.conv.dilation = pool.attrs.pool.dilation;
    conv.attrs.conv.pads = pool.attrs.pool.pads;
    kernel_case_random(&conv, RY_f32, "2x2x6x5", 4);
    kernel_case_values(&conv, RY_f32, "2x1x3x3", ones);
    kernel_case_output(&conv, RY_f32, "2x2x4x5");
    kernel_case_run(&pool, every_kernel_find("pool_ref"), CASE_NHWC);
    kernel_case_run(&conv, every_kernel_find("conv_ref"), CASE_NCHW);
    for (int64_t i = 0; i < ry_tensor_count(&conv.out[0]); i++) {
        assert_true(fabs(9 * kernel_case_get(&pool, 0, i) - kernel_case_get(&conv, 0, i)) < 1e-5);
    }
    kernel_case_end(&pool);
    kernel_case_end(&conv);
}

/* Into the size that pooling had, and into a larger one. */
static void unpooled(void **state)
{
    (void)state;
    static const double x[] = {5, 6, 7, 8}, where[] = {5, 7, 13, 15};
    static const double small[] = {0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0, 0, 7, 0, 8};
    static const double large[] = {0, 0, 0, 0, 0, 0, 5, 0, 6, 0, 0, 0, 0,
                                   0, 0, 0, 7, 0, 8, 0, 0, 0, 0, 0, 0};
    static const struct {
        const double *y;
        const char *shape;
        int64_t count;
    } rows[] = {{small, "1x1x4x4", 16}, {large, "1x1x5x5", 25}};
    for (int i = 0; i < 2; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_max_unpool);
        c.attrs.max_unpool.kernel = (ry_ints){2, {2, 2}};
        c.attrs.max_unpool.stride = (ry_ints){2, {2, 2}};
        kernel_case_values(&c, RY_f32, "1x1x2x2", x);
        kernel_case_values(&c, RY_i64, "1x1x2x2", where);
        kernel_case_output(&c, RY_f32, rows[i].shape);
        kernel_case_known(&c, "max_unpool_ref", rows[i].y, rows[i].count, 0);
        kernel_case_end(&c);
    }
}

/* No images: no index is read. */
static void unpooled_of_nothing(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_max_unpool);
    c.attrs.max_unpool.kernel = (ry_ints){2, {2, 2}};
    c.attrs.max_unpool.stride = (ry_ints){2, {2, 2}};
    kernel_case_random(&c, RY_f32, "0x1x2x2", 1);
    kernel_case_random(&c, RY_i64, "0x1x2x2", 1);
    kernel_case_output(&c, RY_f32, "0x1x4x4");
    kernel_case_known(&c, "max_unpool_ref", NULL, 0, 0);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maximum_and_where),
        cmocka_unit_test(maximum_details),
        cmocka_unit_test(maximum_of_bytes_and_of_nothing),
        cmocka_unit_test(average),
        cmocka_unit_test(average_over_the_end),
        cmocka_unit_test(lp),
        cmocka_unit_test(dilated_average_is_a_convolution),
        cmocka_unit_test(unpooled),
        cmocka_unit_test(unpooled_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
