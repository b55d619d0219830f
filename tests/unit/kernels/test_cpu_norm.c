/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of softmax and of the normalisations against their references, in every
 * layout, at odd sizes. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NEAR32 1e-5

/* A kernel for each instruction set. */
static void check(kernel_case *c, const char *symbol)
{
    kernel_case_check_isas(c, symbol, NEAR32);
    kernel_case_end(c);
}

static void test_softmax(void **state)
{
    (void)state;
    const struct {
        const char *shape;
        int axis, flatten;
    } cases[] = {{"1000", 0, 0},      {"3x1", 1, 0},       {"7x1000", -1, 0}, {"2x5x13", 1, 0},
                 {"2x21x9x31", 1, 0}, {"2x3x301x5", 2, 0}, {"2x3x4x5", 1, 1}, {"5x8x33x33", -1, 0},
                 {"1x4x600", 1, 0},   {"3x17x1x1", 1, 0},  {"1x1x1", 0, 0},   {"2x70000", 1, 0},
                 {"2x3x4x5x6", 0, 0}, {"2x3x4x5x6", 3, 0}, {"300x3x2", 0, 0}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_softmax);
        c.attrs.softmax.axis = cases[i / 2].axis;
        c.attrs.softmax.flatten = cases[i / 2].flatten;
        c.attrs.softmax.kind = i & 1 ? RY_softmax_kind_log_softmax : RY_softmax_kind_softmax;
        kernel_case_pattern(&c, RY_f32, cases[i / 2].shape, 37, 101, 1);
        kernel_case_output(&c, RY_f32, cases[i / 2].shape);
        check(&c, "softmax_f32");
        for (int half = 0; half < 2; half++) { /* the result is rounded to half floats */
            kernel_case_begin(&c, RY_OP_softmax);
            c.attrs.softmax.axis = cases[i / 2].axis;
            c.attrs.softmax.flatten = cases[i / 2].flatten;
            c.attrs.softmax.kind = i & 1 ? RY_softmax_kind_log_softmax : RY_softmax_kind_softmax;
            kernel_case_random(&c, half ? RY_f16 : RY_bf16, cases[i / 2].shape, i);
            kernel_case_output(&c, half ? RY_f16 : RY_bf16, cases[i / 2].shape);
            check(&c, "softmax_f32");
        }
    }
}

static void test_batch_norm(void **state)
{
    (void)state;
    const char *shapes[][2] = {{"2x5x7x9", "5"},  {"3x64x7x7", "64"}, {"1x3x50x60", "3"},
                               {"4x37", "37"},    {"2x1x5x5", "1"},   {"2x9x1x1", "9"},
                               {"2x6x4x3x5", "6"}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_batch_norm);
        c.attrs.batch_norm.epsilon = 2;
        kernel_case_random(&c, RY_f32, shapes[i][0], 1);
        for (uint64_t k = 2; k < 6; k++) {
            kernel_case_random(&c, RY_f32, shapes[i][1], k);
        }
        kernel_case_output(&c, RY_f32, shapes[i][0]);
        check(&c, "batch_norm_f32");
    }
}

static void test_group_norm(void **state)
{
    (void)state;
    const struct {
        const char *shape, *channels;
        int groups;
    } cases[] = {{"2x6x5x7", "6", 3},      {"2x6x5x7", "6", 6},     {"1x6x5x7", "6", 1},
                 {"1x4x150x150", "4", 2},  {"1x4x150x150", "4", 4}, {"2x32x9x3", "32", 8},
                 {"1x3x1000x101", "3", 3}, {"3x5x1x1", "5", 1},     {"2x4", "4", 2},
                 {"2x4x31", "4", 2},       {"2x1x8x8", "1", 1},     {"1x8x3x5x7", "8", 4},
                 {"1x100x40x40", "100", 4}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_group_norm);
        c.attrs.group_norm.groups = cases[i].groups;
        kernel_case_pattern(&c, RY_f32, cases[i].shape, 37, 101, 1);
        kernel_case_random(&c, RY_f32, cases[i].channels, 2);
        kernel_case_random(&c, RY_f32, cases[i].channels, 3);
        kernel_case_output(&c, RY_f32, cases[i].shape);
        check(&c, "group_norm_f32");
    }
}

/* A large mean must not eat the differences from it: the numbers are integers, exact in f32. */
static void test_large_mean(void **state)
{
    (void)state;
    enum { COUNT = 4096 };
    static double values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        values[i] = 1e6 + (double)(i * 37 % 101) - 50;
    }
    kernel_case c;
    kernel_case_begin(&c, RY_OP_layer_norm);
    kernel_case_values(&c, RY_f32, "4x1024", values);
    kernel_case_absent(&c);
    kernel_case_absent(&c);
    kernel_case_output(&c, RY_f32, "4x1024");
    check(&c, "layer_norm_f32");

    kernel_case_begin(&c, RY_OP_group_norm);
    c.attrs.group_norm.groups = 2;
    kernel_case_values(&c, RY_f32, "1x4x32x32", values);
    kernel_case_random(&c, RY_f32, "4", 2);
    kernel_case_random(&c, RY_f32, "4", 3);
    kernel_case_output(&c, RY_f32, "1x4x32x32");
    check(&c, "group_norm_f32");
}

static void test_layer_norm(void **state)
{
    (void)state;
    const struct {
        const char *shape, *row, *statistics;
        int axis;
    } cases[] = {{"3x5x96", "96", "3x5x1", -1},
                 {"7x13", "13", "7x1", 1},
                 {"2x3x4x5", "4x5", "2x3x1x1", 2},
                 {"2x20000", "20000", "2x1", 1},
                 {"6x1", "1", "6x1", 1}};
    static double values[40000];
    for (int i = 0; i < 40000; i++) {
        values[i] = i * 37 % 101;
    }
    for (size_t i = 0; i < 8 * sizeof cases / sizeof *cases; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_layer_norm);
        c.attrs.layer_norm.axis = cases[i / 8].axis;
        c.attrs.layer_norm.rms = i & 1;
        c.attrs.layer_norm.epsilon = 1e-3;
        /* a mean far from 0: the bound is relative to it */
        kernel_case_values(&c, RY_f32, cases[i / 8].shape, values);
        for (unsigned k = 1; k < 3; k++) {
            if (i >> k & 1) {
                kernel_case_random(&c, RY_f32, cases[i / 8].row, k);
            } else {
                kernel_case_absent(&c);
            }
        }
        kernel_case_output(&c, RY_f32, cases[i / 8].shape);
        if (i & 2) {
            kernel_case_output(&c, RY_f32, cases[i / 8].statistics);
            kernel_case_output(&c, RY_f32, cases[i / 8].statistics);
        }
        check(&c, "layer_norm_f32");
    }
}

static void test_lrn(void **state)
{
    (void)state;
    const char *shapes[] = {"2x5x7x9", "1x64x13x13", "1x3x50x60", "2x37x1x1", "1x1x5x5", "2x7"};
    for (size_t i = 0; i < 12 * sizeof shapes / sizeof *shapes; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_lrn);
        c.attrs.lrn.size = (int64_t[]){5, 4, 1, 31}[i / 3 % 4];
        c.attrs.lrn.beta = i / 3 & 1 ? 0.75 : 0.6;
        c.attrs.lrn.alpha = 0.5;
        const ry_dtype dtype = (ry_dtype[]){RY_f32, RY_f16, RY_bf16}[i % 3];
        kernel_case_random(&c, dtype, shapes[i / 12], i);
        kernel_case_output(&c, dtype, shapes[i / 12]);
        check(&c, "lrn_f32");
    }
}

/* The mean of a row with an infinity is infinite. */
static void test_infinite_mean(void **state)
{
    (void)state;
    static double values[40];
    for (int i = 0; i < 40; i++) {
        values[i] = i == 7 ? (double)INFINITY : i == 25 ? -(double)INFINITY : (double)i;
    }
    kernel_case c;
    kernel_case_begin(&c, RY_OP_layer_norm);
    kernel_case_values(&c, RY_f32, "2x20", values);
    kernel_case_absent(&c);
    kernel_case_absent(&c);
    kernel_case_output(&c, RY_f32, "2x20");
    kernel_case_output(&c, RY_f32, "2x1");
    check(&c, "layer_norm_f32");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_softmax),       cmocka_unit_test(test_batch_norm),
        cmocka_unit_test(test_group_norm),    cmocka_unit_test(test_layer_norm),
        cmocka_unit_test(test_large_mean),    cmocka_unit_test(test_lrn),
        cmocka_unit_test(test_infinite_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
