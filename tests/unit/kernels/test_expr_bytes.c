/* SPDX-License-Identifier: Apache-2.0 */
/* Expressions of bytes, by tables and by the evaluator, against the reference at every instruction
 * set: each byte is equal. */
#include "expr/expr.h"
#include "kernel_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define PROGRAM(text)              \
    {                              \
        text ", u8)", text ", i8)" \
    }

/* For results of u8 and of i8. */
static const char *const programs[][2] = {
    PROGRAM("saturate(round(sigmoid((cast(x0, f32) - 117) * 0.0371) / 0.00391)"),
    PROGRAM("saturate(round(max((cast(x0, f32) - 3) * 0.02, -1) / 0.031) + 17"),
    PROGRAM("saturate(cast(x0, f32) * 1.5"),
};

static const char *const shapes[] = {"1x1x1", "1x17x5x3", "2x64x9x7", "3x41x33x2", "1x8x64x64"};

/* Every byte of the type, in an order that no vector sees twice. */
static void add(kernel_case *c, ry_dtype dtype, const char *shape, int seed)
{
    double values[1 << 16];
    for (int i = 0; i < 1 << 16; i++) {
        values[i] = (double)((i * 167 + seed + i / 256) % 256) - (dtype == RY_i8 ? 128 : 0);
    }
    kernel_case_values(c, dtype, shape, values);
}

static void tables_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t k = 0; k < sizeof programs / sizeof *programs; k++) {
            for (int types = 0; types < 4; types++) {
                kernel_case c;
                const ry_dtype x = types & 1 ? RY_i8 : RY_u8, y = types & 2 ? RY_i8 : RY_u8;
                kernel_case_begin(&c, RY_OP_expr);
                assert_int_equal(ry_expr_parse(programs[k][y == RY_i8], NULL, 0, &c.arena,
                                               &c.attrs.expr.program, NULL),
                                 RYND_OK);
                add(&c, x, shapes[i], (int)(i + k));
                kernel_case_output(&c, y, shapes[i]);
                kernel_case_check_isas(&c, "expr_table", 0);
                kernel_case_end(&c);
            }
        }
    }
}

static void add_number(kernel_case *c, ry_dtype dtype, double number)
{
    kernel_case_values(c, dtype, "", &number);
}

/* Two dequantised tensors, one of them broadcast, are multiplied and quantised. */
static void products_are_exact(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (int types = 0; types < 4; types++) {
            const ry_dtype x = types & 1 ? RY_i8 : RY_u8, y = types & 2 ? RY_i8 : RY_u8;
            kernel_case c;
            kernel_case_begin(&c, RY_OP_expr);
            assert_int_equal(
                ry_expr_parse(
                    y == RY_i8 ? "t = cast((cast(x0, i32) - cast(x1, i32)), f32) * x2; y0 = "
                                 "saturate(round(t * (cast((cast(x3, i32) - cast(x1, i32)), f32) * "
                                 "x4) / x5) + cast(x6, f32), i8)"
                               : "t = cast((cast(x0, i32) - cast(x1, i32)), f32) * x2; y0 = "
                                 "saturate(round(t * (cast((cast(x3, i32) - cast(x1, i32)), f32) * "
                                 "x4) / x5) + cast(x6, f32), u8)",
                    NULL, 0, &c.arena, &c.attrs.expr.program, NULL),
                RYND_OK);
            add(&c, x, shapes[i], (int)i);
            add_number(&c, x, 31);
            add_number(&c, RY_f32, 0.0213f);
            add(&c, x, "1", 3 + (int)i);
            add_number(&c, RY_f32, 0.0371f);
            add_number(&c, RY_f32, 0.0171f);
            add_number(&c, y, 7);
            kernel_case_output(&c, y, shapes[i]);
            kernel_case_check_isas(&c, "expr", 0);
            kernel_case_end(&c);
        }
    }
}

/* Numbers that no byte holds are bounded, and NaN is 0; halves round to even. Longer than a block of
 * the loop. */
static void floats_are_bounded(void **state)
{
    (void)state;
    enum { VALUES = 11, COUNT = 1103 };
    static const double values[VALUES] = {NAN, INFINITY, -INFINITY, 1e30,  -1e30, 0.5,
                                          1.5, 2.5,      -0.5,      254.5, 255.5},
                        bytes[2][VALUES] = {{0, 255, 0, 255, 0, 10, 12, 12, 10, 255, 255},
                                            {0, 127, -128, 127, -128, 10, 12, 12, 10, 127, 127}};
    for (int is_signed = 0; is_signed < 2; is_signed++) {
        const ry_dtype dtype = is_signed ? RY_i8 : RY_u8;
        double x[COUNT], y[COUNT];
        for (int i = 0; i < COUNT; i++) {
            x[i] = values[i % VALUES];
            y[i] = bytes[is_signed][i % VALUES];
        }
        kernel_case c;
        kernel_case_begin(&c, RY_OP_expr);
        assert_int_equal(ry_expr_parse(is_signed ? "saturate(round(x0 / x1) + cast(x2, f32), i8)"
                                                 : "saturate(round(x0 / x1) + cast(x2, f32), u8)",
                                       NULL, 0, &c.arena, &c.attrs.expr.program, NULL),
                         RYND_OK);
        kernel_case_values(&c, RY_f32, "1x1103", x);
        add_number(&c, RY_f32, 1);
        add_number(&c, dtype, 10);
        kernel_case_output(&c, dtype, "1x1103");
        kernel_case_known(&c, "expr_ref", y, COUNT, 0);
        kernel_case_check_isas(&c, "expr", 0);
        kernel_case_end(&c);
    }
}

/* A zero point that is no whole number: the sum is rounded once more. */
static void zero_points_may_be_fractions(void **state)
{
    (void)state;
    const double x[] = {NAN, 300, 1.5, 2.25, -9, 100.75, 0, 7},
                 y[] = {0, 255, 12, 12, 2, 112, 10, 18};
    kernel_case c;
    kernel_case_begin(&c, RY_OP_expr);
    assert_int_equal(ry_expr_parse("saturate(round(x0 / x1) + x2, u8)", NULL, 0, &c.arena,
                                   &c.attrs.expr.program, NULL),
                     RYND_OK);
    kernel_case_values(&c, RY_f32, "1x8", x);
    add_number(&c, RY_f32, 1);
    add_number(&c, RY_f32, 10.5);
    kernel_case_output(&c, RY_u8, "1x8");
    kernel_case_known(&c, "expr_ref", y, 8, 0);
    kernel_case_check_isas(&c, "expr", 0);
    kernel_case_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_are_exact), cmocka_unit_test(products_are_exact),
        cmocka_unit_test(floats_are_bounded), cmocka_unit_test(zero_points_may_be_fractions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
