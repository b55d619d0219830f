/* SPDX-License-Identifier: Apache-2.0 */
/* Words for numbers of 24 bits in two's complement, stored as their high 16 bits and their low 8 bits.
 *
 *   ry_vf_load_i24(high, low)    RY_W of them, as floats, which hold them exactly
 *   RY_I24_WORK                  operations at the peak that take as long as making a float of one, scaling it and multiplying it */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_FIXED_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_FIXED_H

#include "kernels/cpu/common/simd.h"

#if defined(__AVX512BW__)

#define RY_I24_WORK 7

RY_INLINE ry_vf ry_vf_load_i24(const int16_t *high, const uint8_t *low)
{
    const __m512i h = _mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)high));
    const __m512i l = _mm512_cvtepu8_epi32(_mm_loadu_si128((const __m128i *)(const void *)low));
    return _mm512_cvtepi32_ps(_mm512_or_si512(_mm512_slli_epi32(h, 8), l));
}

#elif defined(__AVX2__)

#define RY_I24_WORK 7

RY_INLINE ry_vf ry_vf_load_i24(const int16_t *high, const uint8_t *low)
{
    const __m256i h = _mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i *)(const void *)high));
    const __m256i l = _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)low));
    return _mm256_cvtepi32_ps(_mm256_or_si256(_mm256_slli_epi32(h, 8), l));
}

#else

#define RY_I24_WORK 12

RY_INLINE ry_vf ry_vf_load_i24(const int16_t *high, const uint8_t *low)
{
    float lanes[RY_W];
    for (int i = 0; i < RY_W; i++) {
        lanes[i] = (float)(high[i] * 256 + low[i]);
    }
    return ry_vf_load(lanes);
}

#endif

#endif
