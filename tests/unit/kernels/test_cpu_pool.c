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

/* Half floats: the result is rounded to them. */
static void test_half(void **state)
{
    (void)state;
    for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
        const pool_row *r = &rows[i / 2];
        const ry_dtype dtype = i & 1 ? RY_bf16 : RY_f16;
        for (int kind = 0; kind < 2; kind++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_pool);
            c.attrs.pool.kind = kind ? RY_pool_kind_average : RY_pool_kind_max;
            c.attrs.pool.kernel = r->kernel;
            c.attrs.pool.stride = r->stride;
            c.attrs.pool.dilation = r->dilation;
            c.attrs.pool.pads = r->pads;
            kernel_case_random(&c, dtype, r->in, i);
            kernel_case_output(&c, dtype, r->out);
            check(&c);
            kernel_case_end(&c);
        }
    }
}

/* NaN is larger than every number, wherever in a window it is stored. */
static void test_nan(void **state)
{
    (void)state;
    for (int at = 0; at < 9; at++) {
        double values[9] = {5, 1, 7, 3, 9, 2, 8, 4, 6};
        values[at] = NAN;
        for (int whole = 0; whole < 2; whole++) {
            kernel_case c;
            kernel_case_begin(&c, RY_OP_pool);
            c.attrs.pool.kernel = whole ? (ry_ints){2, {3, 3}} : (ry_ints){2, {2, 2}};
            kernel_case_values(&c, RY_f32, "1x1x3x3", values);
            kernel_case_output(&c, RY_f32, whole ? "1x1x1x1" : "1x1x2x2");
            check(&c);
            kernel_case_end(&c);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all), cmocka_unit_test(test_half),
                                       cmocka_unit_test(test_nan)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
