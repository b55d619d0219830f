/* SPDX-License-Identifier: Apache-2.0 */
/* Reference kernels of order and accumulation: cumulative sum and product, arg-reduction, top-k,
 * non-maximum suppression. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

static void cumulative_sums(void **state)
{
    (void)state;
    static const double x[] = {1, 2, 3, 4, 5, 6};
    static const struct {
        int64_t axis, exclusive, reverse, product;
        double y[6];
    } rows[] = {
        {1, 0, 0, 0, {1, 3, 6, 4, 9, 15}},  {-1, 1, 0, 0, {0, 1, 3, 0, 4, 9}},
        {1, 0, 1, 0, {6, 5, 3, 15, 11, 6}}, {1, 1, 1, 0, {5, 3, 0, 11, 6, 0}},
        {0, 0, 0, 0, {1, 2, 3, 5, 7, 9}},   {1, 0, 0, 1, {1, 2, 6, 4, 20, 120}},
        {1, 1, 1, 1, {6, 3, 1, 30, 6, 1}},  {0, 0, 1, 1, {4, 10, 18, 4, 5, 6}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int dtype = 0; dtype < 2; dtype++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_cumsum);
            c.attrs.cumsum = (ry_cumsum_attrs){rows[i].axis, rows[i].exclusive, rows[i].reverse,
                                               rows[i].product};
            kernel_case_values(&c, dtype ? RY_f32 : RY_i32, "2x3", x);
            kernel_case_output(&c, dtype ? RY_f32 : RY_i32, "2x3");
            kernel_case_known(&c, "cumsum_ref", rows[i].y, 6, 0);
            kernel_case_end(&c);
        }
    }
}

static void arg_reductions(void **state)
{
    (void)state;
    static const double x[] = {2, 7, 7, 2, 1, 1, 3, NAN};
    static const struct {
        int64_t axis, keepdims, min, select_last;
        const char *shape;
        double y[4];
        int64_t count;
    } rows[] = {
        {1, 0, 0, 0, "2", {1, 3}, 2},         {-1, 1, 0, 1, "2x1", {2, 3}, 2},
        {1, 0, 1, 0, "2", {0, 3}, 2},         {1, 0, 1, 1, "2", {3, 3}, 2},
        {0, 1, 0, 0, "1x4", {0, 0, 0, 1}, 4}, {0, 0, 1, 0, "4", {1, 1, 1, 1}, 4},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_arg_reduce);
        c.attrs.arg_reduce =
            (ry_arg_reduce_attrs){rows[i].axis, rows[i].keepdims, rows[i].min, rows[i].select_last};
        kernel_case_values(&c, RY_f32, "2x4", x);
        kernel_case_output(&c, RY_i64, rows[i].shape);
        kernel_case_known(&c, "arg_reduce_ref", rows[i].y, rows[i].count, 0);
        kernel_case_end(&c);
    }
}

static void arg_of_large_integers(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_arg_reduce);
    kernel_case_values(&c, RY_u64, "4", (double[]){0, 0, 0, 0});
    uint64_t *x = c.in[0].data;
    x[1] = UINT64_MAX - 1;
    x[2] = UINT64_MAX; /* as double, or as signed, not above the one before */
    kernel_case_output(&c, RY_i64, "1");
    static const double y[] = {2};
    kernel_case_known(&c, "arg_reduce_ref", y, 1, 0);
    kernel_case_end(&c);
}

static void top(void **state)
{
    (void)state;
    static const double x[] = {3, 1, 3, NAN, -1, 1};
    static const struct {
        int64_t largest, k;
        const char *shape;
        double values[6], indices[6];
    } rows[] = {
        {1, 6, "6", {NAN, 3, 3, 1, 1, -1}, {3, 0, 2, 1, 5, 4}},
        {0, 6, "6", {-1, 1, 1, 3, 3, NAN}, {4, 1, 5, 0, 2, 3}},
        {1, 2, "2", {NAN, 3}, {3, 0}},
        {0, 0, "0", {0}, {0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_topk);
        c.attrs.topk.axis = 0;
        c.attrs.topk.k = rows[i].k;
        c.attrs.topk.largest = rows[i].largest;
        kernel_case_values(&c, RY_f32, "6", x);
        kernel_case_output(&c, RY_f32, rows[i].shape);
        kernel_case_output(&c, RY_i64, rows[i].shape);
        kernel_case_known(&c, "topk_ref", rows[i].values, rows[i].k, 0);
        kernel_case_expect(&c, 1, rows[i].indices, rows[i].k, 0);
        kernel_case_end(&c);
    }
}

/* Sorting long lanes along a middle axis: in order, equals by position, each index once. */
static void top_of_long_lanes(void **state)
{
    (void)state;
    kernel_case c;
    kernel_case_begin(&c, RY_OP_topk);
    c.attrs.topk.axis = 1;
    c.attrs.topk.k = 101;
    kernel_case_random(&c, RY_i8, "2x101x3", 9);
    kernel_case_output(&c, RY_i8, "2x101x3");
    kernel_case_output(&c, RY_i64, "2x101x3");
    assert_true(kernel_case_steady(&c, "topk_ref") > 0);
    for (int64_t lane = 0; lane < 6; lane++) {
        bool seen[101] = {0};
        int64_t base = lane / 3 * 303 + lane % 3;
        for (int64_t i = 0; i < 101; i++) {
            int64_t index = (int64_t)kernel_case_get(&c, 1, base + 3 * i);
            assert_false(seen[index]);
            seen[index] = true;
            double value = kernel_case_get(&c, 0, base + 3 * i);
            assert_true(value == ry_get_f64(RY_i8, c.in[0].data, base + 3 * index));
            if (i > 0) {
                double before = kernel_case_get(&c, 0, base + 3 * (i - 1));
                assert_true(before > value ||
                            (before == value &&
                             kernel_case_get(&c, 1, base + 3 * (i - 1)) < (double)index));
            }
        }
    }
    kernel_case_end(&c);
}

typedef struct nms_row {
    int64_t centre, max_output;
    double iou, score;
    int64_t count;
    double selected[24];
} nms_row;

/* Two overlapping boxes (of overlap 1/3), one far away, and the far one again with its corners
 * flipped. */
static void suppression(void **state)
{
    (void)state;
    static const double corners[] = {0, 0, 2, 2, 0, 1, 2, 3, 8, 8, 9, 9, 9, 9, 8, 8};
    static const double centres[] = {1, 1, 2, 2, 2, 1, 2, 2, 8.5, 8.5, 1, 1, 8.5, 8.5, 1, 1};
    static const double scores[] = {0.9, 0.8, 0.5, 0.5, 0.1, 0.2, 0.7, 0.6};
    static const nms_row rows[] = {
        {0, 9, 0.5, -INFINITY, 6, {0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 1, 2, 0, 1, 1, 0, 1, 0}},
        {0, 9, 0.3, -INFINITY, 4, {0, 0, 0, 0, 0, 2, 0, 1, 2, 0, 1, 1}},
        {1, 9, 0.3, -INFINITY, 4, {0, 0, 0, 0, 0, 2, 0, 1, 2, 0, 1, 1}},
        {0, 1, 0.5, -INFINITY, 2, {0, 0, 0, 0, 1, 2}},
        {0, 9, 0.5, 0.55, 3, {0, 0, 0, 0, 0, 1, 0, 1, 2}},
        {0, 0, 0.5, -INFINITY, 0, {0}},
        {0, 9, 1, -INFINITY, 8, {0, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 3,
                                 0, 1, 2, 0, 1, 3, 0, 1, 1, 0, 1, 0}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (case_layout layout = 0; layout < CASE_LAYOUTS; layout++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_nms);
            c.attrs.nms =
                (ry_nms_attrs){rows[i].centre, rows[i].max_output, rows[i].iou, rows[i].score};
            kernel_case_values(&c, RY_f32, "1x4x4", rows[i].centre ? centres : corners);
            kernel_case_values(&c, RY_f32, "1x2x4", scores);
            kernel_case_output(&c, RY_i64, "8x3");
            assert_true(kernel_case_steady(&c, "nms_ref") > 0);
            kernel_case_run(&c, every_kernel_find("nms_ref"), layout);
            assert_int_equal(c.actual[0][0], rows[i].count);
            assert_int_equal(c.actual[0][1], 3);
            for (int64_t j = 0; j < 3 * rows[i].count; j++) {
                assert_true(kernel_case_get(&c, 0, j) == rows[i].selected[j]);
            }
            kernel_case_end(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cumulative_sums),       cmocka_unit_test(arg_reductions),
        cmocka_unit_test(arg_of_large_integers), cmocka_unit_test(top),
        cmocka_unit_test(top_of_long_lanes),     cmocka_unit_test(suppression),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
