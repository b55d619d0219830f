/* SPDX-License-Identifier: Apache-2.0 */
/* The fast kernels of scans and searches against their references: every type, ties, NaN, any
 * axis. */
#include "kernel_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

/* Few different values, so that there are ties; some NaN, of both signs; both zeros. */
static void add_values(kernel_case *c, ry_dtype dtype, const char *shape, int64_t count,
                       int modulus, int nan_every)
{
    double *values = malloc((size_t)count * sizeof *values);
    assert_non_null(values);
    for (int64_t i = 0; i < count; i++) {
        values[i] = (double)((i * 7919 + i / 3) % modulus - modulus / 2);
        values[i] = values[i] == 0 && i % 2 ? -0.0 : values[i];
        if (nan_every && i % nan_every == nan_every - 1) {
            values[i] = copysign((double)NAN, i / nan_every % 2 ? -1 : 1);
        }
    }
    kernel_case_values(c, dtype, shape, values);
    free(values);
}

static void test_arg_reduce(void **state)
{
    (void)state;
    const struct {
        const char *in, *kept, *dropped;
        int64_t count;
        int axis;
    } cases[] = {{"7x1000", "7x1", "7", 7000, 1},
                 {"2x21x9x31", "2x1x9x31", "2x9x31", 2 * 21 * 9 * 31, 1},
                 {"3x5", "3x1", "3", 15, -1},
                 {"3x65", "3x1", "3", 195, 1},
                 {"2x3x300x2", "2x3x1x2", "2x3x2", 3600, 2},
                 {"4x600", "1x600", "600", 2400, 0},
                 {"130", "1", "", 130, 0},
                 {"40x37", "40x1", "40", 1480, 1},
                 {"3x1x5", "3x1x5", "3x5", 15, 1},
                 {"2x3x4x257", "2x3x4x1", "2x3x4", 24 * 257, 3}};
    for (size_t i = 0; i < 24 * sizeof cases / sizeof *cases; i++) {
        for (ry_dtype dtype = RY_f32; dtype < RY_bool; dtype++) {
            kernel_case c;
            size_t row = i / 24;
            const int nan = ry_dtype_is_float(dtype) ? (int[]){0, 100, 7}[i % 24 / 8] : 0;
            kernel_case_begin(&c, RY_OP_arg_reduce);
            c.attrs.arg_reduce.axis = cases[row].axis;
            c.attrs.arg_reduce.min = i & 1;
            c.attrs.arg_reduce.select_last = i >> 1 & 1;
            c.attrs.arg_reduce.keepdims = i >> 2 & 1;
            add_values(&c, dtype, cases[row].in, cases[row].count, i & 4 ? 11 : 100003, nan);
            kernel_case_output(&c, RY_i64, i & 4 ? cases[row].kept : cases[row].dropped);
            kernel_case_check_isas(&c, "arg_reduce", 0);
            kernel_case_end(&c);
        }
    }
}

static void test_topk(void **state)
{
    (void)state;
    const struct {
        const char *in, *out;
        int64_t count;
        int axis;
    } cases[] = {{"3x1000", "3x5", 3000, 1},  {"3x100", "3x100", 300, -1},
                 {"2x50x7", "2x9x7", 700, 1}, {"2x50x7", "2x50x4", 700, 2},
                 {"8400", "1000", 8400, 0},   {"2x6", "2x0", 12, 1},
                 {"2x1", "2x1", 2, 1}};
    for (ry_dtype dtype = RY_f32; dtype < RY_bool; dtype++) {
        for (size_t i = 0; i < 16 * sizeof cases / sizeof *cases; i++) {
            kernel_case c;
            size_t row = i / 16;
            kernel_case_begin(&c, RY_OP_topk);
            c.attrs.topk.axis = cases[row].axis;
            c.attrs.topk.largest = i & 1;
            add_values(&c, dtype, cases[row].in, cases[row].count, i & 2 ? 11 : 100003,
                       i & 4 && ry_dtype_is_float(dtype) ? 9 : 0);
            kernel_case_output(&c, dtype, cases[row].out);
            if (i & 8) {
                kernel_case_output(&c, RY_i64, cases[row].out);
            }
            kernel_case_check_isas(&c, "topk", 0);
            kernel_case_end(&c);
        }
    }
}

/* Boxes that overlap in many ways; scores with ties. */
static void test_nms(void **state)
{
    (void)state;
    for (int i = 0; i < 24; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_nms);
        c.attrs.nms = (ry_nms_attrs){i & 1, (int[]){3, 40, 1000}[i % 3],
                                     (double[]){0, 0.3, 0.7, 1}[i / 6], i & 2 ? 0.2 : -INFINITY};
        kernel_case_pattern(&c, RY_f32, "2x90x4", 7919 + i, i & 4 ? 41 : 9, 0.25);
        kernel_case_pattern(&c, RY_f32, "2x3x90", 104729, i & 8 ? 997 : 13, 0.125);
        kernel_case_output(&c, RY_i64, i & 16 ? "540x3" : "18x3");
        kernel_case_check(&c, "nms_heap", 0);
        kernel_case_end(&c);
    }
}

/* The types that have numbers: all but bool, the last. */
static void test_cumsum(void **state)
{
    (void)state;
    const struct {
        const char *shape;
        int axis;
    } cases[] = {{"3x19x4", 1},  {"2x3x300", 1}, {"5x7", 0},      {"9x21", 1},
                 {"19x1100", 1}, {"1x517", -1},  {"2x5x3x9", 1},  {"2x5x3x9", 3},
                 {"7", 0},       {"2x1x6", 1},   {"2x64x8x8", 1}, {"1x2048", 1}};
    for (ry_dtype dtype = RY_f32; dtype < RY_bool; dtype++) {
        for (size_t i = 0; i < 8 * sizeof cases / sizeof *cases; i++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_cumsum);
            c.attrs.cumsum.axis = cases[i / 8].axis;
            c.attrs.cumsum.exclusive = i & 1;
            c.attrs.cumsum.reverse = i >> 1 & 1;
            c.attrs.cumsum.product = i >> 2 & 1;
            kernel_case_random(&c, dtype, cases[i / 8].shape, i);
            kernel_case_output(&c, dtype, cases[i / 8].shape);
            kernel_case_check_isas(&c, "cumsum", ry_dtype_is_float(dtype) ? 2e-6 : 0);
            kernel_case_end(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_arg_reduce),
                                       cmocka_unit_test(test_cumsum), cmocka_unit_test(test_nms),
                                       cmocka_unit_test(test_topk)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
