/* SPDX-License-Identifier: Apache-2.0 */
/* The vector kernels of pooling's gradient against the reference: kernels, strides, pads,
 * dilations, ranks, both layouts, ties. */
#include "kernel_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#define NEAR32 1e-5

typedef struct pool_row {
    const char *in, *out;
    ry_ints image, kernel, stride, dilation, pads;
} pool_row;

/* clang-format off */
static const pool_row rows[] = {
    {"2x3x9x11",    "2x3x7x9",    {2, {9, 11}},   {2, {3, 3}},    {0},            {0},            {0}},
    {"1x4x17x35",   "1x4x9x18",   {2, {17, 35}},  {2, {3, 3}},    {2, {2, 2}},    {0},            {4, {1, 1, 1, 1}}},
    {"1x4x17x35",   "1x4x8x17",   {2, {17, 35}},  {2, {3, 3}},    {2, {2, 2}},    {0},            {0}},
    {"1x70x14x14",  "1x70x14x14", {2, {14, 14}},  {2, {3, 3}},    {2, {1, 1}},    {0},            {4, {1, 1, 1, 1}}},
    {"2x5x12x12",   "2x5x6x6",    {2, {12, 12}},  {2, {2, 2}},    {2, {2, 2}},    {0},            {0}},
    {"2x64x6x5",    "2x64x3x2",   {2, {6, 5}},    {2, {2, 2}},    {2, {2, 2}},    {0},            {0}},
    {"1x3x20x21",   "1x3x8x9",    {2, {20, 21}},  {2, {3, 2}},    {2, {2, 2}},    {2, {2, 3}},    {4, {0, 1, 0, 0}}},
    {"1x2x13x13",   "1x2x13x13",  {2, {13, 13}},  {2, {5, 5}},    {2, {1, 1}},    {0},            {4, {2, 2, 2, 2}}},
    {"1x2x10x50",   "1x2x3x13",   {2, {10, 50}},  {2, {4, 5}},    {2, {3, 4}},    {0},            {4, {1, 2, 0, 1}}},
    {"1x2x9x30",    "1x2x9x9",    {2, {9, 30}},   {2, {1, 4}},    {2, {1, 3}},    {0},            {0}},
    {"1x2x9x30",    "1x2x3x6",    {2, {9, 30}},   {2, {2, 2}},    {2, {3, 5}},    {0},            {0}},
    {"2x37x7x7",    "2x37x1x1",   {2, {7, 7}},    {2, {7, 7}},    {0},            {0},            {0}},
    {"2x3x40x40",   "2x3x1x1",    {2, {40, 40}},  {2, {40, 40}},  {0},            {0},            {0}},
    {"2x3x5x5",     "2x3x1x1",    {2, {5, 5}},    {2, {7, 7}},    {0},            {0},            {4, {1, 1, 1, 1}}},
    {"1x3x5x5",     "1x3x3x3",    {2, {5, 5}},    {2, {3, 3}},    {2, {2, 2}},    {0},            {4, {0, 0, 1, 1}}},
    {"2x4x33",      "2x4x16",     {1, {33}},      {1, {3}},       {1, {2}},       {0},            {0}},
    {"1x1x1000",    "1x1x1000",   {1, {1000}},    {1, {9}},       {0},            {0},            {2, {4, 4}}},
    {"1x3x6x7x9",   "1x3x3x4x5",  {3, {6, 7, 9}}, {3, {3, 3, 3}}, {3, {2, 2, 2}}, {0},            {6, {1, 1, 1, 0, 1, 1}}},
    {"2x65x4x4x4",  "2x65x1x1x1", {3, {4, 4, 4}}, {3, {4, 4, 4}}, {0},            {0},            {0}},
    {"1x2x8x3x4x5", "1x2x7x2x3x4",{4, {8, 3, 4, 5}}, {4, {2, 2, 2, 2}}, {0},      {0},            {0}},
    {"1x5x1x1",     "1x5x1x1",    {2, {1, 1}},    {2, {1, 1}},    {0},            {0},            {0}},
    {"2x5x1x1",     "2x5x2x2",    {2, {1, 1}},    {2, {2, 2}},    {0},            {0},            {4, {1, 1, 1, 1}}},
    {"1x20x1x1",    "1x20x3x3",   {2, {1, 1}},    {2, {3, 3}},    {0},            {0},            {4, {2, 2, 2, 2}}},
    {"1x3x3x4",     "1x3x7x8",    {2, {3, 4}},    {2, {1, 1}},    {0},            {0},            {4, {2, 2, 2, 2}}},
};
/* clang-format on */

enum { EXACT_TIES = 3, KINDS = 4 };

/* Kinds: average without and with padding, max of numbers that are all different, and of few. */
static void check(const pool_row *r, size_t kind)
{
    kernel_case c;
    kernel_case_begin(&c, RY_OP_pool_grad);
    c.attrs.pool_grad.kind = kind < 2 ? RY_pool_kind_average : RY_pool_kind_max;
    c.attrs.pool_grad.count_include_pad = kind == 1;
    c.attrs.pool_grad.image = r->image;
    c.attrs.pool_grad.kernel = r->kernel;
    c.attrs.pool_grad.stride = r->stride;
    c.attrs.pool_grad.dilation = r->dilation;
    c.attrs.pool_grad.pads = r->pads;
    kernel_case_random(&c, RY_f32, r->out, 3);
    if (kind == EXACT_TIES) {
        kernel_case_pattern(&c, RY_f32, r->in, 7, 3, 1);
    } else if (kind == 2) {
        kernel_case_random(&c, RY_f32, r->in, 5);
    }
    kernel_case_output(&c, RY_f32, r->in);
    kernel_case_check_isas(&c, "pool_grad_f32", NEAR32);
    kernel_case_end(&c);
}

static void test_all(void **state)
{
    (void)state;
    for (size_t i = 0; i < KINDS * sizeof rows / sizeof *rows; i++) {
        check(&rows[i / KINDS], i % KINDS);
    }
}

/* NaN is larger than every number, the first of them; of windows of -infinity the first element
 * has the gradient. */
static void test_no_numbers(void **state)
{
    (void)state;
    static const double dy[] = {1, 2, 4, 8}, nan_first[] = {5, 1, 7, NAN, 9, NAN, 8, NAN, 6},
                        lowest[] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY, -INFINITY,
                                    -INFINITY, -INFINITY, -INFINITY, -INFINITY};
    const double *const x[] = {nan_first, lowest};
    for (int i = 0; i < 2; i++) {
        kernel_case c;
        kernel_case_begin(&c, RY_OP_pool_grad);
        c.attrs.pool_grad.image = (ry_ints){2, {3, 3}};
        c.attrs.pool_grad.kernel = (ry_ints){2, {3, 3}};
        c.attrs.pool_grad.stride = (ry_ints){2, {2, 2}};
        c.attrs.pool_grad.pads = (ry_ints){4, {1, 1, 1, 1}};
        kernel_case_values(&c, RY_f32, "1x1x2x2", dy);
        kernel_case_values(&c, RY_f32, "1x1x3x3", x[i]);
        kernel_case_output(&c, RY_f32, "1x1x3x3");
        kernel_case_check_isas(&c, "pool_grad_f32", 0);
        kernel_case_end(&c);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_all),
                                       cmocka_unit_test(test_no_numbers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
