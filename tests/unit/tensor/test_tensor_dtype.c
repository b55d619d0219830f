/* SPDX-License-Identifier: Apache-2.0 */
/* Conversion of single elements: half and bfloat16 at every boundary, saturation, wrapping. */
#include "tensor/dtype.h"

#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* IEEE 754 binary16 by its definition. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                       : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                      : ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static double bfloat_value(uint16_t bits)
{
    int exponent = bits >> 7 & 255, fraction = bits & 127;
    double magnitude = exponent == 255 ? (fraction ? NAN : INFINITY)
                       : exponent      ? ldexp(128 + fraction, exponent - 134)
                                       : ldexp(fraction, -133);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static void test_every_half(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 65536; i++) {
        uint16_t bits = (uint16_t)i;
        double half = half_value(bits), bfloat = bfloat_value(bits);
        float value = ry_f16_to_f32(bits), other = ry_bf16_to_f32(bits);
        if (isnan(half)) {
            assert_true(isnan(value) && isnan(ry_f16_to_f32(ry_f32_to_f16(value))));
        } else {
            assert_true((double)value == half && !signbit(value) == !(bits & 0x8000));
            assert_int_equal(ry_f32_to_f16(value), bits);
        }
        if (isnan(bfloat)) {
            assert_true(isnan(other) && isnan(ry_bf16_to_f32(ry_f32_to_bf16(other))));
        } else {
            assert_true((double)other == bfloat);
            assert_int_equal(ry_f32_to_bf16(other), bits);
        }
    }
}

static uint16_t even(uint16_t low, uint16_t high)
{
    return low & 1 ? high : low;
}

/* Between each two neighbours: the middle goes to the even one, the least step to either side of it
 * to the nearer one. Stored from float and from double, where the least step is smaller than a
 * float's. */
static void test_rounding(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 0x7bff; i++) {
        uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1), got;
        double middle = (half_value(low) + half_value(high)) / 2;
        assert_int_equal(ry_f32_to_f16((float)middle), even(low, high));
        assert_int_equal(ry_f32_to_f16(nextafterf((float)middle, 0)), low);
        assert_int_equal(ry_f32_to_f16(nextafterf((float)middle, INFINITY)), high);
        assert_int_equal(ry_f32_to_f16(-(float)middle), even(low, high) | 0x8000);
        ry_set_f64(RY_f16, &got, 0, middle);
        assert_int_equal(got, even(low, high));
        ry_set_f64(RY_f16, &got, 0, nextafter(middle, 0));
        assert_int_equal(got, low);
        ry_set_f64(RY_f16, &got, 0, nextafter(middle, INFINITY));
        assert_int_equal(got, high);
    }
    /* normal numbers: the middle of two subnormals is no float */
    for (unsigned i = 0x80; i < 0x7f7f; i++) {
        uint16_t low = (uint16_t)i, high = (uint16_t)(i + 1), got;
        double middle = (bfloat_value(low) + bfloat_value(high)) / 2;
        assert_int_equal(ry_f32_to_bf16((float)middle), even(low, high));
        assert_int_equal(ry_f32_to_bf16(nextafterf((float)middle, 0)), low);
        assert_int_equal(ry_f32_to_bf16(nextafterf((float)middle, INFINITY)), high);
        ry_set_f64(RY_bf16, &got, 0, nextafter(middle, 0));
        assert_int_equal(got, low);
        ry_set_f64(RY_bf16, &got, 0, nextafter(middle, INFINITY));
        assert_int_equal(got, high);
    }
}

static void test_overflow(void **state)
{
    (void)state;
    assert_int_equal(ry_f32_to_f16(65519.996f), 0x7bff);
    assert_int_equal(ry_f32_to_f16(65520.0f), 0x7c00);
    assert_int_equal(ry_f32_to_f16(-1e30f), 0xfc00);
    assert_int_equal(ry_f32_to_f16(1e-30f), 0);
    assert_int_equal(ry_f32_to_f16(-1e-30f), 0x8000);
    assert_int_equal(ry_f32_to_f16(0x1p-25f), 0); /* half of the least: to even */
    assert_int_equal(ry_f32_to_f16(0x1.8p-25f), 1);
    assert_int_equal(ry_f32_to_bf16(FLT_MAX), 0x7f80);
    uint16_t half;
    ry_set_f64(RY_f16, &half, 0, 1e300);
    assert_int_equal(half, 0x7c00);
    ry_set_f64(RY_f16, &half, 0, NAN);
    assert_true(isnan(ry_f16_to_f32(half)));
}

/* A stored double and what reading gives. */
static void test_integers(void **state)
{
    (void)state;
    static const struct {
        ry_dtype dtype;
        double stored;
        int64_t read;
    } cases[] = {
        {RY_i8, 127.9, 127},
        {RY_i8, -1.9, -1},
        {RY_i8, 200, -56},
        {RY_u8, 300, 44},
        {RY_u8, -1, 255},
        {RY_i16, 40000, -25536},
        {RY_u16, 65537, 1},
        {RY_i32, 4294967297.0, 1},
        {RY_u32, -1, 4294967295},
        {RY_i64, 1e300, INT64_MAX},
        {RY_i64, -1e300, INT64_MIN},
        {RY_i64, NAN, 0},
        {RY_u64, NAN, 0},
        {RY_u64, 0x1p63, INT64_MIN},
        {RY_u64, 1e300, -1},
        {RY_u64, -1, -1},
        {RY_bool, 0.5, 1},
        {RY_bool, 0, 0},
        {RY_bool, NAN, 1},
        {RY_f32, 1.5, 1},
        {RY_f64, -2.5, -2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t cell[2] = {0, 0};
        ry_set_f64(cases[i].dtype, cell, 0, cases[i].stored);
        assert_int_equal(ry_get_i64(cases[i].dtype, cell, 0), cases[i].read);
        assert_int_equal(cell[1], 0);
    }
}

static void test_rows(void **state)
{
    (void)state;
    for (int d = 1; d < RY_DTYPES; d++) {
        unsigned char row[64];
        memset(row, 0xa5, sizeof row);
        ry_dtype dtype = (ry_dtype)d;
        size_t size = ry_dtype_size(dtype);
        ry_set_i64(dtype, row, 1, 1);
        ry_set_f64(dtype, row, 3, 1);
        assert_true(ry_get_f64(dtype, row, 1) == 1 && ry_get_f64(dtype, row, 3) == 1 &&
                    ry_get_i64(dtype, row, 3) == 1);
        for (size_t i = 0; i < sizeof row; i++) { /* nothing else is touched */
            bool inside = i / size == 1 || i / size == 3;
            assert_true(inside || row[i] == 0xa5);
        }
        assert_int_equal(ry_dtype_parse(ry_dtype_name(dtype), strlen(ry_dtype_name(dtype))), dtype);
        assert_int_equal(ry_dtype_from_onnx(ry_dtype_to_onnx(dtype)), dtype);
        assert_int_equal(ry_dtype_is_float(dtype),
                         dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16 || dtype == RY_f64);
    }
    assert_int_equal(ry_dtype_parse("f3", 2), RY_NONE);
    assert_int_equal(ry_dtype_parse("none", 4), RY_NONE);
    assert_int_equal(ry_dtype_from_onnx(8), RY_NONE); /* STRING */
    assert_int_equal(ry_dtype_from_onnx(-1), RY_NONE);
    assert_int_equal(RY_f32, RYND_DTYPE_F32);
    assert_int_equal(RY_bool, RYND_DTYPE_BOOL);
}

/* Rows that begin at any address, as numbers in a file do: UndefinedBehaviorSanitizer sees a load
 * of the type itself. */
static void test_unaligned_rows(void **state)
{
    (void)state;
    for (int d = 1; d < RY_DTYPES; d++) {
        for (size_t at = 0; at < 8; at++) {
            unsigned char memory[64] = {0};
            ry_dtype dtype = (ry_dtype)d;
            ry_set_f64(dtype, memory + at, 2, 1);
            ry_set_i64(dtype, memory + at, 3, 1);
            assert_true(ry_get_f64(dtype, memory + at, 3) == 1);
            assert_int_equal(ry_get_i64(dtype, memory + at, 2), 1);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_half), cmocka_unit_test(test_rounding),
        cmocka_unit_test(test_overflow),   cmocka_unit_test(test_integers),
        cmocka_unit_test(test_rows),       cmocka_unit_test(test_unaligned_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
