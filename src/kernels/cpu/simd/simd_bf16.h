/* SPDX-License-Identifier: Apache-2.0 */
/* Words for products of bfloat16 operands with sums in float32, beside those of simd.h.
 *
 *   ry_vi_pairs_bf16(even, odd)  lane i holds even[i], rounded to bfloat16 (to nearest even), in
 *                                its low half and odd[i] in its high half
 *   ry_vi_row_bf16(low, high)    the same of a row's 2 RY_W elements: lane i holds elements 2 i and
 *                                2 i + 1
 *   ry_vf_dot_bf16(a, b, c)      c + a.low * b.low + a.high * b.high in each lane, in an order of
 *                                its own
 *
 * AVX512_BF16 counts subnormal operands, products and sums as zero; plain C does not. */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_BF16_H
#define RY_KERNELS_CPU_SIMD_SIMD_BF16_H

#include "kernels/cpu/simd/simd.h"

#if defined(__AVX512BF16__)

RY_INLINE ry_vi ry_vi_pairs_bf16(ry_vf even, ry_vf odd)
{
    const __m512i turn =
        _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6,
                         21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    return _mm512_permutexvar_epi16(turn, (__m512i)_mm512_cvtne2ps_pbh(odd, even));
}

RY_INLINE ry_vi ry_vi_row_bf16(ry_vf low, ry_vf high)
{
    return (__m512i)_mm512_cvtne2ps_pbh(high, low);
}

RY_INLINE ry_vf ry_vf_dot_bf16(ry_vi a, ry_vi b, ry_vf c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

#else

#include "tensor/dtype.h"

/* Lane i from elements[i * step] and elements[i * step + apart]. */
RY_INLINE ry_vi ry_round_pairs_bf16(const float *elements, int step, int apart)
{
    int32_t lanes[RY_W];
    for (int i = 0; i < RY_W; i++) {
        const uint32_t pair = (uint32_t)ry_f32_to_bf16(elements[i * step]) |
                              (uint32_t)ry_f32_to_bf16(elements[i * step + apart]) << 16;
        memcpy(&lanes[i], &pair, sizeof pair);
    }
    return ry_vi_load(lanes);
}

RY_INLINE ry_vi ry_vi_pairs_bf16(ry_vf even, ry_vf odd)
{
    float elements[2 * RY_W];
    ry_vf_store(elements, even);
    ry_vf_store(elements + RY_W, odd);
    return ry_round_pairs_bf16(elements, 1, RY_W);
}

RY_INLINE ry_vi ry_vi_row_bf16(ry_vf low, ry_vf high)
{
    float elements[2 * RY_W];
    ry_vf_store(elements, low);
    ry_vf_store(elements + RY_W, high);
    return ry_round_pairs_bf16(elements, 2, 1);
}

/* The halves of each lane as floats. */
RY_INLINE void ry_halves_bf16(ry_vi pairs, ry_vf *low, ry_vf *high)
{
    int32_t lanes[RY_W];
    float lows[RY_W], highs[RY_W];
    ry_vi_store(lanes, pairs);
    for (int i = 0; i < RY_W; i++) {
        const uint32_t bits = (uint32_t)lanes[i];
        lows[i] = ry_bf16_to_f32((uint16_t)bits);
        highs[i] = ry_bf16_to_f32((uint16_t)(bits >> 16));
    }
    *low = ry_vf_load(lows);
    *high = ry_vf_load(highs);
}

RY_INLINE ry_vf ry_vf_dot_bf16(ry_vi a, ry_vi b, ry_vf c)
{
    ry_vf a_low, a_high, b_low, b_high;
    ry_halves_bf16(a, &a_low, &a_high);
    ry_halves_bf16(b, &b_low, &b_high);
    return ry_vf_fma(a_low, b_low, ry_vf_fma(a_high, b_high, c));
}

#endif

#endif
