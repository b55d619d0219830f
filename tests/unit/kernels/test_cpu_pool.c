/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of pooling against the reference: kernels, strides, pads, dilations, ranks,
 * both layouts. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NEAR32 1e-5

static void check(kernel_case *c)
{
    kernel_case_check_isas(c, "pool_f32", NEAR32);
}

typedef struct pool_row {
    const char *in, *out;
    ry_ints kernel, stride, dilation, pads;
} pool_row;

/* clang-format off */
static const pool_row rows[] = {
    {"2x3x9x11",    "2x3x7x9",    {2, {3, 3}},    {0},            {0},            {0}},
    {"1x4x17x35",   "1x4x9x18",   {2, {3, 3}},    {2, {2, 2}},    {0},            {4, {1, 1, 1, 1}}},
    {"1x4x17x35",   "1x4x8x17",   {2, {3, 3}},    {2, {2, 2}},    {0},            {0}},
    {"1x70x14x14",  "1x70x14x14", {2, {3, 3}},    {2, {1, 1}},    {0},            {4, {1, 1, 1, 1}}},
    {"2x5x12x12",   "2x5x6x6",    {2, {2, 2}},    {2, {2, 2}},    {0},            {0}},
    {"1x3x20x21",   "1x3x8x9",    {2, {3, 2}},    {2, {2, 2}},    {2, {2, 3}},    {4, {0, 1, 0, 0}}},
    {"1x2x13x13",   "1x2x13x13",  {2, {5, 5}},    {2, {1, 1}},    {0},            {4, {2, 2, 2, 2}}},
    {"1x2x10x50",   "1x2x3x13",   {2, {4, 5}},    {2, {3, 4}},    {0},            {4, {1, 2, 0, 1}}},
    {"1x2x9x30",    "1x2x9x9",    {2, {1, 4}},    {2, {1, 3}},    {0},            {0}},
    {"2x37x7x7",    "2x37x1x1",   {2, {7, 7}},    {0},            {0},            {0}},
    {"2x3x40x40",   "2x3x1x1",    {2, {40, 40}},  {0},            {0},            {0}},
    {"2x3x5x5",     "2x3x1x1",    {2, {7, 7}},    {0},            {0},            {4, {1, 1, 1, 1}}},
    {"1x3x5x5",     "1x3x3x3",    {2, {3, 3}},    {2, {2, 2}},    {0},            {4, {0, 0, 1, 1}}},
    {"2x4x33",      "2x4x16",     {1, {3}},       {1, {2}},       {0},            {0}},
    {"1x1x1000",    "1x1x1000",   {1, {9}},       {0},            {0},            {2, {4, 4}}},
    {"1x3x6x7x9",   "1x3x3x4x5",  {3, {3, 3, 3}}, {3, {2, 2, 2}}, {0},            {6, {1, 1, 1, 0, 1, 1}}},
    {"2x65x4x4x4",  "2x65x1x1x1", {3, {4, 4, 4}}, {0},            {0},            {0}},
    {"1x2x8x3x4x5", "1x2x7x2x3x4",{4, {2, 2, 2, 2}}, {0},         {0},            {0}},
    {"1x5x1x1",     "1x5x1x1",    {2, {1, 1}},    {0},            {0},            {0}},
    {"2x5x1x1",     "2x5x2x2",    {2, {2, 2}},    {0},            {0},            {4, {1, 1, 1, 1}}},
    {"1x20x1x1",    "1x20x3x3",   {2, {3, 3}},    {0},            {0},            {4, {2, 2, 2, 2}}},
    {"1x3x30x4",    "1x3x12x4",   {2, {19, 1}},   {0},            {0},            {0}},
    /* many small planes */
    {"9x15x5x5",    "9x15x5x5",   {2, {3, 3}},    {0},            {0},            {4, {1, 1, 1, 1}}},
    {"67x1x3x4",    "67x1x2x2",   {2, {2, 2}},    {2, {2, 2}},    {0},            {4, {1, 0, 0, 0}}},
    {"2x33x9",      "2x33x5",     {1, {3}},       {1, {2}},       {0},            {2, {1, 1}}},
};
/* clang-format on */

static void test_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < 3 * sizeof rows / sizeof *rows; i++) {
        const pool_row *r = &rows[i / 3];
        kernel_case c;
        kernel_case_begin(&c, RY_OP_pool);
        c.attrs.pool.kind = i % 3 ? RY_pool_kind_average : RY_pool_kind_max;
        c.attrs.pool.count_include_pad = i % 3 == 2;
        c.attrs.pool.kernel = r->kernel;
        c.attrs.pool.stride = r->stride;
        c.attrs.pool.dilation = r->dilation;
        c.attrs.pool.pads = r->pads;
        kernel_case_random(&c, RY_f32, r->in, i);
        kernel_case_output(&c, RY_f32, r->out);
        check(&c);
        kernel_case_end(&c);
    }
}

/* Any type (small integers have ties), norms, indices in either order. */
static void test_lanes(void **state)
{
    (void)state;
    for (ry_dtype dtype = RY_f32; dtype < RY_bool; dtype++) {
        for (size_t i = 0; i < 6 * sizeof rows / sizeof *rows; i++) {
            const pool_row *r = &rows[i / 6];
            const bool indices = i % 6 < 2;
            kernel_case c;
            kernel_case_begin(&c, RY_OP_pool);
            c.attrs.pool.kind = i % 6 < 3    ? RY_pool_kind_max
                                : i % 6 == 3 ? RY_pool_kind_average
                                             : RY_pool_kind_lp;
            c.attrs.pool.p = i % 6 == 4 ? 2 : dtype % 2 ? 1 : 3;
            c.attrs.pool.storage_order = i % 6 == 1;
            c.attrs.pool.kernel = r->kernel;
            c.attrs.pool.stride = r->stride;
            c.attrs.pool.dilation = r->dilation;
            c.attrs.pool.pads = r->pads;
            kernel_case_random(&c, dtype, r->in, i);
            kernel_case_output(&c, dtype, r->out);
            if (indices) {
                kernel_case_output(&c, RY_i64, r->out);
            }
            const bool in_f32 = dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
            if (in_f32 && !indices && i % 6 <= 3) {
                kernel_case_check_isas(&c, "pool_f32", i % 6 < 3 ? 0 : NEAR32);
            } else if (ry_dtype_is_float(dtype) || i % 6 < 3) {
                kernel_case_check_isas(&c, "pool_lanes", i % 6 < 3 ? 0 : NEAR32);
            }
            kernel_case_end(&c);
        }
    }
}

/* Ties, NaN and infinities: the first of equals, and the first NaN, gives the index. */
static void test_first_of_equals(void **state)
{
    (void)state;
    double values[2 * 8 * 8];
    for (int i = 0; i < 2 * 8 * 8; i++) {
        values[i] = (double[]){-INFINITY, 2, -INFINITY, 2, NAN, 1, -INFINITY, 0}[i * 7 / 3 % 8];
        values[i] = i < 24 ? -INFINITY : values[i];
    }
    for (int i = 0; i < 4; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_pool);
        c.attrs.pool.kernel = (ry_ints){2, {3, 2}};
        c.attrs.pool.stride = (ry_ints){2, {2, 2}};
        c.attrs.pool.pads = (ry_ints){4, {1, 2, 1, 2}}; /* windows of padding alone, too */
        c.attrs.pool.storage_order = i & 1;
        kernel_case_values(&c, i & 2 ? RY_f64 : RY_f32, "1x2x8x8", values);
        kernel_case_output(&c, i & 2 ? RY_f64 : RY_f32, "1x2x4x6");
        kernel_case_output(&c, RY_i64, "1x2x4x6");
        kernel_case_check_isas(&c, "pool_lanes", 0);
        kernel_case_end(&c);
    }
}

/* NaN is larger than every number, wherever in a window it is stored. */
static void test_nan(void **state)
{
    (void)state;
    for (int at = 0; at < 9; at++) {
        double values[9] = {5, 1, 7, 3, 9, 2, 8, 4, 6};
        values[at] = NAN;
        for (int i = 0; i < 4; i++) {
            const bool whole = i & 1;
            const ry_dtype dtype = i & 2 ? RY_f16 : RY_f32;
            kernel_case c;
            kernel_case_begin(&c, RY_OP_pool);
            c.attrs.pool.kernel = whole ? (ry_ints){2, {3, 3}} : (ry_ints){2, {2, 2}};
            kernel_case_values(&c, dtype, "1x1x3x3", values);
            kernel_case_output(&c, dtype, whole ? "1x1x1x1" : "1x1x2x2");
            check(&c);
            kernel_case_end(&c);
        }
    }
}

/* Indices in their own planes, with repeated ones; the last rounds have some in other planes. */
static void test_max_unpool(void **state)
{
    (void)state;
    const struct {
        const char *x, *y;
        int planes, positions, pooled;
        ry_dtype dtype;
    } cases[] = {{"2x3x4x5", "2x3x8x10", 6, 20, 80, RY_f32},
                 {"2x3x4x5", "2x3x9x13", 6, 20, 80, RY_f16},
                 {"1x40x3x3", "1x40x6x6", 40, 9, 36, RY_u8},
                 {"2x5x6", "2x5x12", 10, 6, 12, RY_f64}};
    for (size_t i = 0; i < 4 * sizeof cases / sizeof *cases; i++) {
        const size_t row = i / 4;
        const int count = cases[row].planes * cases[row].positions;
        double index[400];
        for (int k = 0; k < count; k++) {
            const int plane =
                i % 4 == 3 && k % 5 == 0 ? k * 7 % cases[row].planes : k / cases[row].positions;
            index[k] = plane * cases[row].pooled + k * 13 % (cases[row].pooled / (1 + (int)i % 2));
        }
        kernel_case c;
        kernel_case_begin(&c, RY_OP_max_unpool);
        c.attrs.max_unpool.kernel = c.attrs.max_unpool.stride =
            row == 3 ? (ry_ints){1, {2}} : (ry_ints){2, {2, 2}};
        kernel_case_random(&c, cases[row].dtype, cases[row].x, i);
        kernel_case_values(&c, RY_i64, cases[row].x, index);
        kernel_case_output(&c, cases[row].dtype, cases[row].y);
        kernel_case_check(&c, "max_unpool_move", 0);
        kernel_case_end(&c);
    }
}

static void test_col2im(void **state)
{
    (void)state;
    const struct {
        const char *x, *y;
        ry_ints image, block, stride, dilation, pads;
    } cases[] = {
        {"2x18x20", "2x2x6x7", {2, {6, 7}}, {2, {3, 3}}, {0}, {0}, {0}},
        {"1x36x64", "1x6x15x14", {2, {15, 14}}, {2, {2, 3}}, {2, {2, 2}}, {0}, {4, {1, 2, 0, 1}}},
        {"1x12x9", "1x3x9x9", {2, {9, 9}}, {2, {2, 2}}, {2, {3, 3}}, {0}, {0}},
        {"1x12x25", "1x3x10x12", {2, {10, 12}}, {2, {2, 2}}, {2, {2, 2}}, {2, {1, 2}}, {0}},
        {"1x9x33", "1x3x35", {1, {35}}, {1, {3}}, {0}, {0}, {0}},
        {"1x8x18", "1x1x4x3x4", {3, {4, 3, 4}}, {3, {2, 2, 2}}, {0}, {0}, {0}},
    };
    for (ry_dtype dtype = RY_f32; dtype < RY_bool; dtype++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_col2im);
            c.attrs.col2im.image = cases[i].image;
            c.attrs.col2im.block = cases[i].block;
            c.attrs.col2im.stride = cases[i].stride;
            c.attrs.col2im.dilation = cases[i].dilation;
            c.attrs.col2im.pads = cases[i].pads;
            kernel_case_random(&c, dtype, cases[i].x, i);
            kernel_case_output(&c, dtype, cases[i].y);
            kernel_case_check_isas(&c, "col2im", ry_dtype_is_float(dtype) ? 2e-6 : 0);
            kernel_case_end(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_lanes),
                                       cmocka_unit_test(test_first_of_equals),
                                       cmocka_unit_test(test_max_unpool),
                                       cmocka_unit_test(test_col2im),
                                       cmocka_unit_test(test_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
