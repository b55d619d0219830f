/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of simd.h for AVX-512 F, BW, DQ, VL. */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_AVX512_H
#define RY_KERNELS_CPU_SIMD_SIMD_AVX512_H

#include <immintrin.h>

#define RY_W            16
#define RY_TILE_ROWS    14
#define RY_TILE_VECTORS 2
#define RY_GRAIN        8

typedef __m512 ry_vf;
typedef __m512i ry_vi;
typedef __mmask16 ry_vm;

/* clang-format off */
RY_INLINE ry_vm ry_vm_bits(uint32_t bits) { return (ry_vm)bits; }
RY_INLINE ry_vm ry_vm_first(int64_t n) { return (ry_vm)(n >= RY_W ? 0xffffu : (1u << n) - 1u); }
RY_INLINE ry_vf ry_vf_zero(void) { return _mm512_setzero_ps(); }
RY_INLINE ry_vf ry_vf_set(float x) { return _mm512_set1_ps(x); }
RY_INLINE ry_vf ry_vf_load(const float *p) { return _mm512_loadu_ps(p); }
RY_INLINE ry_vf ry_vf_load_m(const float *p, ry_vm m) { return _mm512_maskz_loadu_ps(m, p); }
RY_INLINE void ry_vf_store(float *p, ry_vf v) { _mm512_storeu_ps(p, v); }
RY_INLINE void ry_vf_store_m(float *p, ry_vm m, ry_vf v) { _mm512_mask_storeu_ps(p, m, v); }
RY_INLINE ry_vf ry_vf_add(ry_vf a, ry_vf b) { return _mm512_add_ps(a, b); }
RY_INLINE ry_vf ry_vf_mul(ry_vf a, ry_vf b) { return _mm512_mul_ps(a, b); }
RY_INLINE ry_vf ry_vf_fma(ry_vf a, ry_vf b, ry_vf c) { return _mm512_fmadd_ps(a, b, c); }
/* clang-format on */

/* The first half of the lanes; the others are anything. */
RY_INLINE ry_vf ry_vf_load_half(const float *p)
{
    return _mm512_castps256_ps512(_mm256_loadu_ps(p));
}

RY_INLINE ry_vf ry_vf_fma_half(ry_vf a, ry_vf b, ry_vf c)
{
    return _mm512_castps256_ps512(_mm256_fmadd_ps(
        _mm512_castps512_ps256(a), _mm512_castps512_ps256(b), _mm512_castps512_ps256(c)));
}

RY_INLINE ry_vf ry_vf_max(ry_vf bound, ry_vf x)
{
    return _mm512_max_ps(bound, x);
}

RY_INLINE ry_vf ry_vf_min(ry_vf bound, ry_vf x)
{
    return _mm512_min_ps(bound, x);
}

/* b where a lane of `a` is negative (its sign bit), c elsewhere. */
RY_INLINE ry_vf ry_vf_negative_select(ry_vf a, ry_vf b, ry_vf c)
{
    return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, _mm512_setzero_ps(), _CMP_LT_OQ), c, b);
}

/* Where v is larger than *best it becomes that, and *at becomes `mark`: NaN is larger than any
 * number, and the first of equals stays. */
RY_INLINE void ry_vf_keep_largest(ry_vf v, ry_vf mark, ry_vf *best, ry_vf *at)
{
    const __mmask16 larger = _mm512_mask_cmp_ps_mask(_mm512_cmp_ps_mask(*best, *best, _CMP_ORD_Q),
                                                     v, *best, _CMP_NLE_UQ);
    *best = _mm512_mask_mov_ps(*best, larger, v);
    *at = _mm512_mask_mov_ps(*at, larger, mark);
}

/* 0 where a lane of `a` is at most b, v elsewhere (where one is NaN, too). */
RY_INLINE ry_vf ry_vf_keep_above(ry_vf v, ry_vf a, ry_vf b)
{
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLE_UQ), v);
}

RY_INLINE ry_vf ry_vf_div(ry_vf a, ry_vf b)
{
    return _mm512_div_ps(a, b);
}

RY_INLINE ry_vf ry_vf_or(ry_vf a, ry_vf b)
{
    return _mm512_or_ps(a, b);
}

RY_INLINE ry_vf ry_vf_evens(ry_vf low, ry_vf high)
{
    const __m512i index =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
    return _mm512_permutex2var_ps(low, index, high);
}

RY_INLINE void ry_vf_deinterleave(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    const __m512i index =
        _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    *evens = _mm512_permutex2var_ps(low, index, high);
    *odds = _mm512_permutex2var_ps(low, _mm512_or_si512(index, _mm512_set1_epi32(1)), high);
}

RY_INLINE void ry_vf_interleave(ry_vf evens, ry_vf odds, ry_vf *low, ry_vf *high)
{
    const __m512i index = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
    *low = _mm512_permutex2var_ps(evens, index, odds);
    *high = _mm512_permutex2var_ps(evens, _mm512_or_si512(index, _mm512_set1_epi32(8)), odds);
}

RY_INLINE ry_vf ry_vf_shift_in(ry_vf first, ry_vf v)
{
    return _mm512_permutex2var_ps(
        v, _mm512_setr_epi32(16, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), first);
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_permute2(ry_vf low, ry_vf high, ry_vi index, ry_vm keep)
{
    return _mm512_maskz_permutex2var_ps(keep, low, index, high);
}
RY_INLINE ry_vf ry_vf_permute(ry_vf v, ry_vi index) { return _mm512_permutexvar_ps(index, v); }
RY_INLINE ry_vf ry_vf_halves(float low, float high)
{
    return _mm512_mask_blend_ps(0xff00, _mm512_set1_ps(low), _mm512_set1_ps(high));
}
RY_INLINE void ry_vf_store_first(float *p, int64_t n, ry_vf v)
{
    _mm512_mask_storeu_ps(p, ry_vm_first(n), v);
}
/* clang-format on */

/* Two masked stores of half a vector are faster than two of a whole one. The second half comes by a
 * shuffle: compilers would make one instruction of an extraction and its store, which faults on
 * lanes that the mask leaves out. */
RY_INLINE void ry_vf_store_halves(float *low, float *high, int64_t n, ry_vf v)
{
    const __mmask8 m = (__mmask8)ry_vm_first(n);
    _mm256_mask_storeu_ps(low, m, _mm512_castps512_ps256(v));
    _mm256_mask_storeu_ps(high, m, _mm512_castps512_ps256(_mm512_shuffle_f32x4(v, v, 0xee)));
}

/* clang-format off */
RY_INLINE float ry_vf_sum(ry_vf v) { return _mm512_reduce_add_ps(v); }
RY_INLINE ry_vi ry_vi_set(int32_t x) { return _mm512_set1_epi32(x); }
RY_INLINE ry_vi ry_vi_load(const int32_t *p) { return _mm512_loadu_si512(p); }
RY_INLINE ry_vi ry_vi_load_m(const int32_t *p, ry_vm m) { return _mm512_maskz_loadu_epi32(m, p); }
RY_INLINE void ry_vi_store(int32_t *p, ry_vi v) { _mm512_storeu_si512(p, v); }
RY_INLINE void ry_vi_store_m(int32_t *p, ry_vm m, ry_vi v) { _mm512_mask_storeu_epi32(p, m, v); }
RY_INLINE ry_vi ry_vi_add(ry_vi a, ry_vi b) { return _mm512_add_epi32(a, b); }
RY_INLINE ry_vi ry_vi_fma(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm512_add_epi32(_mm512_mullo_epi32(a, b), c);
}
RY_INLINE ry_vf ry_vf_load_f16(const uint16_t *p)
{
    return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)p));
}
RY_INLINE ry_vf ry_vf_load_f16_m(const uint16_t *p, ry_vm m)
{
    return _mm512_cvtph_ps(_mm256_maskz_loadu_epi16(m, p));
}
RY_INLINE ry_vf ry_vf_from_bf16(__m256i v)
{
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(v), 16));
}
RY_INLINE ry_vf ry_vf_load_bf16(const uint16_t *p)
{
    return ry_vf_from_bf16(_mm256_loadu_si256((const __m256i *)p));
}
RY_INLINE ry_vf ry_vf_load_bf16_m(const uint16_t *p, ry_vm m)
{
    return ry_vf_from_bf16(_mm256_maskz_loadu_epi16(m, p));
}
/* clang-format on */

RY_INLINE void ry_vf_store_f16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    _mm256_mask_storeu_epi16(p, m,
                             _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

RY_INLINE void ry_vf_store_bf16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
    const __m512i quiet = _mm512_or_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(0x40));
    rounded = _mm512_mask_blend_epi32(_mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q), rounded, quiet);
    _mm256_mask_storeu_epi16(p, m, _mm512_cvtepi32_epi16(rounded));
}

RY_INLINE void ry_vf_transpose(ry_vf v[RY_W])
{
    ry_vf t[16];
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        t[2 * i] = _mm512_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm512_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        v[4 * i] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        v[4 * i + 1] = _mm512_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
        v[4 * i + 2] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        v[4 * i + 3] = _mm512_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0x88);
        t[i + 4] = _mm512_shuffle_f32x4(v[i], v[i + 4], 0xdd);
        t[i + 8] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0x88);
        t[i + 12] = _mm512_shuffle_f32x4(v[i + 8], v[i + 12], 0xdd);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
        v[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    }
}

#endif
