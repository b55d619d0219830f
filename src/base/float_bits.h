/* SPDX-License-Identifier: Apache-2.0 */
/* The bits of floats and doubles, and the reverse. */
#ifndef RY_BASE_FLOAT_BITS_H
#define RY_BASE_FLOAT_BITS_H

#include <stdint.h>
#include <string.h>

static inline uint32_t ry_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float ry_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t ry_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double ry_f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
