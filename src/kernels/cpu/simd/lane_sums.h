/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions across the lanes of vectors, for *_isa.c sources. */
#ifndef RY_KERNELS_CPU_SIMD_LANE_SUMS_H
#define RY_KERNELS_CPU_SIMD_LANE_SUMS_H

#include "kernels/cpu/simd/simd.h"

/* The sums of four vectors' lanes. */
RY_INLINE void ry_vf_sum_four(const ry_vf v[4], float sum[4])
{
#if defined(__AVX512F__)
    const __m512 ab = _mm512_add_ps(_mm512_unpacklo_ps(v[0], v[1]), _mm512_unpackhi_ps(v[0], v[1]));
    const __m512 cd = _mm512_add_ps(_mm512_unpacklo_ps(v[2], v[3]), _mm512_unpackhi_ps(v[2], v[3]));
    const __m512 all =
        _mm512_add_ps(_mm512_shuffle_ps(ab, cd, 0x44), _mm512_shuffle_ps(ab, cd, 0xee));
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(all), _mm512_extractf32x8_ps(all, 1));
    _mm_storeu_ps(sum, _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1)));
#elif defined(__AVX2__)
    const __m256 ab = _mm256_add_ps(_mm256_unpacklo_ps(v[0], v[1]), _mm256_unpackhi_ps(v[0], v[1]));
    const __m256 cd = _mm256_add_ps(_mm256_unpacklo_ps(v[2], v[3]), _mm256_unpackhi_ps(v[2], v[3]));
    const __m256 all =
        _mm256_add_ps(_mm256_shuffle_ps(ab, cd, 0x44), _mm256_shuffle_ps(ab, cd, 0xee));
    _mm_storeu_ps(sum, _mm_add_ps(_mm256_castps256_ps128(all), _mm256_extractf128_ps(all, 1)));
#else
    for (int i = 0; i < 4; i++) {
        sum[i] = ry_vf_sum(v[i]);
    }
#endif
}

/* The largest lane. Lanes must not be NaN. */
RY_INLINE float ry_vf_largest(ry_vf v)
{
#if defined(__AVX512F__)
    return _mm512_reduce_max_ps(v);
#else
    float lanes[RY_W];
    ry_vf_store(lanes, v);
    for (int half = RY_W / 2; half > 0; half /= 2) {
        for (int i = 0; i < half; i++) {
            lanes[i] = lanes[i] > lanes[i + half] ? lanes[i] : lanes[i + half];
        }
    }
    return lanes[0];
#endif
}

#endif
