/* SPDX-License-Identifier: Apache-2.0 */
/* Words of the vector vocabulary for rows of pixels. On AMD's Zen 4 a permutation of two vectors
 * (vpermt2ps) takes the place of a multiply-add; shuffles within parts of a vector and permutations
 * of one run beside them.
 *
 *   ry_vf_deinterleave_loose(low, high, e, o)  as ry_vf_deinterleave, but in an order of lanes that
 *                                              costs least, the same for both
 *   ry_vf_tidy(v)                      from that order to the usual one
 *   ry_vf_shift_loose(p, there, v)     in that order: what comes before each element of v; before
 *                                      the first *p, or 0 where it is not there
 *   ry_vf_shift_loose_halves(p, q, there, v)  the same, and *q before the second half of the
 *                                             elements
 *   ry_vf_before(v, m), _behind(v, m)  lane i - 1 (i + 1) of v in lane i, 0 outside the mask, which
 *                                      has no first (last) lane
 *   ry_vf_keep(v)                      v, loaded once: GCC would make it an operand in memory of
 *                                      each of its uses
 *   ry_vf_load_halves(p, q, m)         from p the first half of the lanes, from q the second, of
 *                                      each those in the mask's first half; 0 in others */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_ROWS_H
#define RY_KERNELS_CPU_SIMD_SIMD_ROWS_H

#include "kernels/cpu/simd/simd.h"

RY_INLINE ry_vf ry_vf_keep(ry_vf v)
{
#if defined(__AVX512F__)
    __asm__("" : "+v"(v));
#elif defined(__AVX2__)
    __asm__("" : "+x"(v));
#endif
    return v;
}

#if defined(__AVX512F__)

/* Fours of lanes: two of the first half of the elements, two of the second. */
RY_INLINE void ry_vf_deinterleave_loose(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    *evens = _mm512_shuffle_ps(low, high, 0x88);
    *odds = _mm512_shuffle_ps(low, high, 0xdd);
}

RY_INLINE ry_vf ry_vf_tidy(ry_vf v)
{
    return _mm512_castpd_ps(
        _mm512_permutexvar_pd(_mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7), _mm512_castps_pd(v)));
}

RY_INLINE ry_vf ry_vf_shift_loose(const float *p, bool there, ry_vf v)
{
    const __m512i from = _mm512_setr_epi32(0, 0, 13, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14);
    return _mm512_mask_loadu_ps(_mm512_maskz_permutexvar_ps(0xfffe, from, v), (__mmask16)there, p);
}

/* The second half begins in lane 2. */
RY_INLINE ry_vf ry_vf_shift_loose_halves(const float *p, const float *q, bool there, ry_vf v)
{
    const __m512i from = _mm512_setr_epi32(0, 0, 13, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14);
    const __m512 first =
        _mm512_mask_loadu_ps(_mm512_maskz_permutexvar_ps(0xfffa, from, v), (__mmask16)there, p);
    return _mm512_mask_loadu_ps(first, (__mmask16)(there << 2), q - 2);
}

RY_INLINE ry_vf ry_vf_before(ry_vf v, ry_vm m)
{
    return _mm512_castsi512_ps(
        _mm512_maskz_alignr_epi32(m, _mm512_castps_si512(v), _mm512_castps_si512(v), 15));
}

RY_INLINE ry_vf ry_vf_behind(ry_vf v, ry_vm m)
{
    return _mm512_castsi512_ps(
        _mm512_maskz_alignr_epi32(m, _mm512_castps_si512(v), _mm512_castps_si512(v), 1));
}

RY_INLINE ry_vf ry_vf_load_halves(const float *p, const float *q, ry_vm m)
{
    const __m512 low = _mm512_castps256_ps512(_mm256_maskz_loadu_ps((__mmask8)m, p));
    return _mm512_insertf32x8(low, _mm256_maskz_loadu_ps((__mmask8)m, q), 1);
}

#elif defined(__AVX2__)

RY_INLINE void ry_vf_deinterleave_loose(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    *evens = _mm256_shuffle_ps(low, high, 0x88);
    *odds = _mm256_shuffle_ps(low, high, 0xdd);
}

RY_INLINE ry_vf ry_vf_tidy(ry_vf v)
{
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xd8));
}

RY_INLINE ry_vf ry_vf_shift_loose(const float *p, bool there, ry_vf v)
{
    const __m256 first = there ? _mm256_broadcast_ss(p) : _mm256_setzero_ps();
    return _mm256_blend_ps(_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 5, 2, 1, 4, 3, 6)),
                           first, 1);
}

/* The second half begins in lane 2. */
RY_INLINE ry_vf ry_vf_shift_loose_halves(const float *p, const float *q, bool there, ry_vf v)
{
    const __m256 second = there ? _mm256_broadcast_ss(q) : _mm256_setzero_ps();
    return _mm256_blend_ps(ry_vf_shift_loose(p, there, v), second, 4);
}

RY_INLINE ry_vf ry_vf_before(ry_vf v, ry_vm m)
{
    return _mm256_and_ps(_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)),
                         _mm256_castsi256_ps(m));
}

RY_INLINE ry_vf ry_vf_behind(ry_vf v, ry_vm m)
{
    return _mm256_and_ps(_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(1, 2, 3, 4, 5, 6, 7, 7)),
                         _mm256_castsi256_ps(m));
}

RY_INLINE ry_vf ry_vf_load_halves(const float *p, const float *q, ry_vm m)
{
    const __m128i half = _mm256_castsi256_si128(m);
    return _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_maskload_ps(p, half)),
                                _mm_maskload_ps(q, half), 1);
}

#else

/* clang-format off */
RY_INLINE void ry_vf_deinterleave_loose(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    ry_vf_deinterleave(low, high, evens, odds);
}
RY_INLINE ry_vf ry_vf_tidy(ry_vf v) { return v; }
RY_INLINE ry_vf ry_vf_shift_loose(const float *p, bool there, ry_vf v)
{
    return ry_vf_shift_in(ry_vf_set(there ? *p : 0.0f), v);
}
/* clang-format on */

RY_INLINE ry_vf ry_vf_shift_loose_halves(const float *p, const float *q, bool there, ry_vf v)
{
    float lane[RY_W];
    ry_vf_store(lane, ry_vf_shift_loose(p, there, v));
    lane[RY_W / 2] = there ? *q : 0.0f;
    return ry_vf_load(lane);
}

RY_INLINE ry_vf ry_vf_before(ry_vf v, ry_vm m)
{
    float lane[RY_W + 1];
    ry_vf_store(lane + 1, v);
    return ry_vf_load_m(lane, m);
}

RY_INLINE ry_vf ry_vf_behind(ry_vf v, ry_vm m)
{
    float lane[RY_W + 1];
    ry_vf_store(lane, v);
    return ry_vf_load_m(lane + 1, m);
}

RY_INLINE ry_vf ry_vf_load_halves(const float *p, const float *q, ry_vm m)
{
    float lane[RY_W + RY_W / 2] = {0}; /* masks are of half a vector: compilers do not know */
    ry_vf_store_m(lane, m, ry_vf_load_m(p, m));
    ry_vf_store_m(lane + RY_W / 2, m, ry_vf_load_m(q, m));
    return ry_vf_load(lane);
}

#endif

#endif
