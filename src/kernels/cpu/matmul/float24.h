/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of 24 bits: a sign, 5 bits of an exponent and 18 of a fraction, stored as their high 16
 * bits and their low 8 bits. One of exponent e and fraction f stands for (1 + f / 2^18) 2^(e -
 * 127), none with e = 0 but zero is made.
 *
 *   ry_vf_load_float24(high, low)    RY_W of them, exactly */
#ifndef RY_KERNELS_CPU_MATMUL_FLOAT24_H
#define RY_KERNELS_CPU_MATMUL_FLOAT24_H

#include "kernels/cpu/simd/simd.h"

enum {
    FLOAT24_DROPPED = 23 - 18, /* bits of a float's fraction */
    /* exponent of the largest number that is kept: rounding it may give one more */
    FLOAT24_LARGEST = 30,
};

/* The sign, and the exponent's lower bits with the fraction: what is between them is a copy of the
 * sign. */
static const int32_t float24_kept = (int32_t)0x8fffffff;

#if defined(__AVX512BW__)

RY_INLINE ry_vf ry_vf_load_float24(const int16_t *high, const uint8_t *low)
{
    const __m512i h =
        _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)high));
    const __m512i l = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)low));
    const __m512i both = _mm512_or_si512(_mm512_slli_epi32(h, 8 + FLOAT24_DROPPED),
                                         _mm512_slli_epi32(l, FLOAT24_DROPPED));
    return _mm512_castsi512_ps(_mm512_and_si512(both, _mm512_set1_epi32(float24_kept)));
}

#elif defined(__AVX2__)

RY_INLINE ry_vf ry_vf_load_float24(const int16_t *high, const uint8_t *low)
{
    const __m256i h = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)high));
    const __m256i l = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)low));
    const __m256i both = _mm256_or_si256(_mm256_slli_epi32(h, 8 + FLOAT24_DROPPED),
                                         _mm256_slli_epi32(l, FLOAT24_DROPPED));
    return _mm256_castsi256_ps(_mm256_and_si256(both, _mm256_set1_epi32(float24_kept)));
}

#else

RY_INLINE ry_vf ry_vf_load_float24(const int16_t *high, const uint8_t *low)
{
    uint32_t bits[RY_W];
    float lanes[RY_W];
    for (int i = 0; i < RY_W; i++) {
        bits[i] =
            ((uint32_t)high[i] << (8 + FLOAT24_DROPPED) | (uint32_t)low[i] << FLOAT24_DROPPED) &
            (uint32_t)float24_kept;
    }
    memcpy(lanes, bits, sizeof lanes);
    return ry_vf_load(lanes);
}

#endif

#endif
