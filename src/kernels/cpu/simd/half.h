/* SPDX-License-Identifier: Apache-2.0 */
/* f16 and bf16 to f32 and back, branch-free for loops that the compiler vectorises; rows by F16C
 * where the build has it. Round to nearest even. */
#ifndef RY_KERNELS_CPU_SIMD_HALF_H
#define RY_KERNELS_CPU_SIMD_HALF_H

#include "kernels/cpu/simd/vector_math.h"

#include <stddef.h>

#ifdef __F16C__
#include <immintrin.h>
#endif

/* The 15 bits, moved to f32's place, are the value times 2^-112; the exponent of infinity and NaN
 * is then filled up. */
static inline float ry_f16_to_f32_inline(uint16_t bits)
{
    uint32_t magnitude = (uint32_t)(bits & 0x7fffu) << 13, sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t scaled = ry_f32_bits(ry_f32_of_bits(magnitude) * 0x1p112f);
    scaled = magnitude >= 0x0f800000u ? magnitude | 0x7f800000u : scaled;
    return ry_f32_of_bits(scaled | sign);
}

/* Converts a number alone: faster in loops that compilers leave scalar. */
static inline float ry_f16_to_f32_alone(uint16_t bits)
{
#ifdef __F16C__
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_cvtsi32_si128(bits)));
#else
    return ry_f16_to_f32_inline(bits);
#endif
}

/* Normal results: rounding is an addition that carries into the exponent. Subnormal ones: adding
 * 1/2, whose last place is f16's smallest number, rounds. */
static inline uint16_t ry_f32_to_f16_inline(float value)
{
    uint32_t bits = ry_f32_bits(value), a = bits & 0x7fffffffu;
    uint32_t normal = (a + 0xfffu + ((a >> 13) & 1u) - 0x38000000u) >> 13;
    uint32_t tiny = ry_f32_bits(ry_f32_of_bits(a) + 0.5f) - 0x3f000000u;
    uint32_t r = a < 0x38800000u ? tiny : normal;
    r = a >= 0x47800000u ? 0x7c00u : r;
    r = a > 0x7f800000u ? 0x7e00u | ((a >> 13) & 0x3ffu) : r;
    return (uint16_t)(r | (bits >> 16 & 0x8000u));
}

static inline float ry_bf16_to_f32_inline(uint16_t bits)
{
    return ry_f32_of_bits((uint32_t)bits << 16);
}

static inline uint16_t ry_f32_to_bf16_inline(float value)
{
    uint32_t a = ry_f32_bits(value);
    uint32_t rounded = (a + 0x7fffu + ((a >> 16) & 1u)) >> 16, nan = a >> 16 | 0x40u;
    return (uint16_t)((a & 0x7fffffffu) > 0x7f800000u ? nan : rounded);
}

static inline void ry_f16_load(size_t n, float *restrict y, const uint16_t *a)
{
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        _mm256_storeu_ps(y + i,
                         _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)(a + i))));
    }
#endif
    for (; i < n; i++) {
        y[i] = ry_f16_to_f32_inline(a[i]);
    }
}

static inline void ry_f16_store(size_t n, uint16_t *restrict y, const float *a)
{
    size_t i = 0;
#ifdef __F16C__
    for (; i + 8 <= n; i += 8) {
        _mm_storeu_si128((__m128i *)(void *)(y + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(a + i), _MM_FROUND_TO_NEAREST_INT));
    }
#endif
    for (; i < n; i++) {
        y[i] = ry_f32_to_f16_inline(a[i]);
    }
}

static inline void ry_bf16_load(size_t n, float *restrict y, const uint16_t *a)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = ry_bf16_to_f32_inline(a[i]);
    }
}

static inline void ry_bf16_store(size_t n, uint16_t *restrict y, const float *a)
{
    for (size_t i = 0; i < n; i++) {
        y[i] = ry_f32_to_bf16_inline(a[i]);
    }
}

#endif
