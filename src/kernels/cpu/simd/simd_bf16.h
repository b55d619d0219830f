/* SPDX-License-Identifier: Apache-2.0 */
/* Words for products of bfloat16 operands with sums in float32, beside those of simd.h.
 *
 *   ry_vi_pairs_bf16(even, odd)  lane i holds even[i], rounded to bfloat16 (to nearest even), in
 *                                its low half and odd[i] in its high half
 *   ry_vi_row_bf16(low, high)    the same of a row's 2 RY_W elements: lane i holds elements 2 i and
 *                                2 i + 1
 *   ry_vf_lows_bf16(pairs)       the low halves of lanes as floats;  _highs_: the high halves
 *   ry_vi_next_pairs_bf16(a, b)  lane i holds a's high half in its low one, b's low half above it
 *   ry_vf_dot_bf16(a, b, c)      c + a.low * b.low + a.high * b.high in each lane, in an order of
 *                                its own
 *   ry_vi_magnitudes(v)          the bits of a float without its sign, ordered as magnitudes are
 *   ry_vi_min_u, _max_u          of lanes as unsigned numbers
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

RY_INLINE ry_vf ry_vf_lows_bf16(ry_vi pairs)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
}

RY_INLINE ry_vf ry_vf_highs_bf16(ry_vi pairs)
{
    return _mm512_castsi512_ps(_mm512_and_si512(pairs, _mm512_set1_epi32(-0x10000)));
}

RY_INLINE ry_vf ry_vf_dot_bf16(ry_vi a, ry_vi b, ry_vf c)
{
    return _mm512_dpbf16_ps(c, (__m512bh)a, (__m512bh)b);
}

RY_INLINE ry_vi ry_vi_next_pairs_bf16(ry_vi a, ry_vi b)
{
    return _mm512_or_si512(_mm512_srli_epi32(a, 16), _mm512_slli_epi32(b, 16));
}

RY_INLINE ry_vi ry_vi_magnitudes(ry_vf v)
{
    return _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(0x7fffffff));
}

RY_INLINE ry_vi ry_vi_min_u(ry_vi a, ry_vi b)
{
    return _mm512_min_epu32(a, b);
}

RY_INLINE ry_vi ry_vi_max_u(ry_vi a, ry_vi b)
{
    return _mm512_max_epu32(a, b);
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

/* A half of each lane as floats. */
RY_INLINE ry_vf ry_half_bf16(ry_vi pairs, int shift)
{
    int32_t lanes[RY_W];
    float halves[RY_W];
    ry_vi_store(lanes, pairs);
    for (int i = 0; i < RY_W; i++) {
        halves[i] = ry_bf16_to_f32((uint16_t)((uint32_t)lanes[i] >> shift));
    }
    return ry_vf_load(halves);
}

RY_INLINE ry_vf ry_vf_lows_bf16(ry_vi pairs)
{
    return ry_half_bf16(pairs, 0);
}

RY_INLINE ry_vf ry_vf_highs_bf16(ry_vi pairs)
{
    return ry_half_bf16(pairs, 16);
}

RY_INLINE ry_vf ry_vf_dot_bf16(ry_vi a, ry_vi b, ry_vf c)
{
    return ry_vf_fma(ry_vf_lows_bf16(a), ry_vf_lows_bf16(b),
                     ry_vf_fma(ry_vf_highs_bf16(a), ry_vf_highs_bf16(b), c));
}

RY_INLINE ry_vi ry_vi_next_pairs_bf16(ry_vi a, ry_vi b)
{
    uint32_t low[RY_W], high[RY_W];
    memcpy(low, &a, sizeof low);
    memcpy(high, &b, sizeof high);
    for (int i = 0; i < RY_W; i++) {
        low[i] = low[i] >> 16 | high[i] << 16;
    }
    memcpy(&a, low, sizeof low);
    return a;
}

RY_INLINE ry_vi ry_vi_magnitudes(ry_vf v)
{
    uint32_t bits[RY_W];
    memcpy(bits, &v, sizeof bits);
    for (int i = 0; i < RY_W; i++) {
        bits[i] &= 0x7fffffffu;
    }
    memcpy(&v, bits, sizeof bits);
    return (ry_vi)v;
}

RY_INLINE ry_vi ry_least_u(ry_vi a, ry_vi b, bool greatest)
{
    uint32_t left[RY_W], right[RY_W];
    memcpy(left, &a, sizeof left);
    memcpy(right, &b, sizeof right);
    for (int i = 0; i < RY_W; i++) {
        left[i] = (left[i] < right[i]) != greatest ? left[i] : right[i];
    }
    memcpy(&a, left, sizeof left);
    return a;
}

RY_INLINE ry_vi ry_vi_min_u(ry_vi a, ry_vi b)
{
    return ry_least_u(a, b, false);
}

RY_INLINE ry_vi ry_vi_max_u(ry_vi a, ry_vi b)
{
    return ry_least_u(a, b, true);
}

#endif

#endif
