/* SPDX-License-Identifier: Apache-2.0 */
/* The little arithmetic of whole numbers that plans are full of. */
#ifndef RY_BASE_INTEGER_H
#define RY_BASE_INTEGER_H

#include "base/memory.h"

#include <stdint.h>

static inline int64_t ry_min(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t ry_max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* How many b make a, the last one not whole: a >= 0, b > 0. */
static inline int64_t ry_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static inline int64_t ry_clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* a * b, or INT64_MAX where that is more: a, b >= 0. For limits on products of sizes. */
static inline int64_t ry_product(int64_t a, int64_t b)
{
    int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? INT64_MAX : product;
}

/* The greatest common divisor of positive a and b. */
static inline int64_t ry_common_divisor(int64_t a, int64_t b)
{
    while (b) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* 1, 2, 3, 4, 6, 8, 12, ...: the next number of parts to try. */
static inline int64_t ry_next_parts(int64_t parts)
{
    return parts < 4 ? parts + 1 : (parts & (parts - 1)) == 0 ? parts * 3 / 2 : parts * 4 / 3;
}

/* The next multiple of b. */
static inline int64_t ry_round_up(int64_t a, int64_t b)
{
    return ry_ceil_div(a, b) * b;
}

/* Bytes until the next place that is aligned as buffers are. */
static inline size_t ry_aligned(size_t size)
{
    return (size + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
}

#endif
