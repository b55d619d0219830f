/* SPDX-License-Identifier: Apache-2.0 */
/* The vector vocabulary of simd.h for AVX2, FMA, F16C. */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_AVX2_H
#define RY_KERNELS_CPU_SIMD_SIMD_AVX2_H

#include <immintrin.h>

#define RY_W            8
#define RY_TILE_ROWS    6
#define RY_TILE_VECTORS 2

typedef __m256 ry_vf;
typedef __m256i ry_vi;
typedef __m256i ry_vm;

RY_INLINE ry_vm ry_vm_bits(uint32_t bits)
{
    const __m256i lanes = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
    return _mm256_cmpeq_epi32(_mm256_and_si256(_mm256_set1_epi32((int)bits), lanes), lanes);
}

/* clang-format off */
RY_INLINE ry_vm ry_vm_first(int64_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
RY_INLINE ry_vf ry_vf_zero(void) { return _mm256_setzero_ps(); }
RY_INLINE ry_vf ry_vf_set(float x) { return _mm256_set1_ps(x); }
RY_INLINE ry_vf ry_vf_load(const float *p) { return _mm256_loadu_ps(p); }
RY_INLINE ry_vf ry_vf_load_m(const float *p, ry_vm m) { return _mm256_maskload_ps(p, m); }
RY_INLINE void ry_vf_store(float *p, ry_vf v) { _mm256_storeu_ps(p, v); }
/* clang-format on */

/* AMD's cores take some 19 cycles for a store with a mask, even if it has every lane (Zen 4; 1 for
 * a store without): lanes that begin with the first are stored by halves. */
RY_INLINE void ry_vf_store_m(float *p, ry_vm m, ry_vf v)
{
    const unsigned bits = (unsigned)_mm256_movemask_ps(_mm256_castsi256_ps(m));
    if (bits == 0xff) {
        _mm256_storeu_ps(p, v);
    } else if (bits & (bits + 1)) {
        _mm256_maskstore_ps(p, m, v);
    } else {
        __m128 part = _mm256_castps256_ps128(v);
        if (bits & 8) {
            _mm_storeu_ps(p, part);
            part = _mm256_extractf128_ps(v, 1);
        }
        float *rest = p + (bits & 8 ? 4 : 0);
        const unsigned count = bits & 8 ? bits >> 4 : bits; /* 0, 1, 3, 7 */
        if (count & 2) {
            _mm_storel_pi((__m64 *)(void *)rest, part);
            part = _mm_movehl_ps(part, part);
            rest += 2;
        }
        if (count == 1 || count == 7) {
            _mm_store_ss(rest, part);
        }
    }
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_add(ry_vf a, ry_vf b) { return _mm256_add_ps(a, b); }
RY_INLINE ry_vf ry_vf_mul(ry_vf a, ry_vf b) { return _mm256_mul_ps(a, b); }
RY_INLINE ry_vf ry_vf_fma(ry_vf a, ry_vf b, ry_vf c) { return _mm256_fmadd_ps(a, b, c); }
RY_INLINE ry_vf ry_vf_max(ry_vf bound, ry_vf x) { return _mm256_max_ps(bound, x); }
RY_INLINE ry_vf ry_vf_min(ry_vf bound, ry_vf x) { return _mm256_min_ps(bound, x); }
/* clang-format on */

/* b where a lane of `a` is below 0, c elsewhere. */
RY_INLINE ry_vf ry_vf_negative_select(ry_vf a, ry_vf b, ry_vf c)
{
    return _mm256_blendv_ps(c, b, _mm256_cmp_ps(a, _mm256_setzero_ps(), _CMP_LT_OQ));
}

/* Where v is larger than *best it becomes that, and *at becomes `mark`: NaN is larger than any
 * number, and the first of equals stays. */
RY_INLINE void ry_vf_keep_largest(ry_vf v, ry_vf mark, ry_vf *best, ry_vf *at)
{
    const __m256 larger = _mm256_and_ps(_mm256_cmp_ps(*best, *best, _CMP_ORD_Q),
                                        _mm256_cmp_ps(v, *best, _CMP_NLE_UQ));
    *best = _mm256_blendv_ps(*best, v, larger);
    *at = _mm256_blendv_ps(*at, mark, larger);
}

/* 0 where a lane of `a` is at most b, v elsewhere (where one is NaN, too). */
RY_INLINE ry_vf ry_vf_keep_above(ry_vf v, ry_vf a, ry_vf b)
{
    return _mm256_and_ps(v, _mm256_cmp_ps(a, b, _CMP_NLE_UQ));
}

RY_INLINE ry_vf ry_vf_div(ry_vf a, ry_vf b)
{
    return _mm256_div_ps(a, b);
}

RY_INLINE ry_vf ry_vf_or(ry_vf a, ry_vf b)
{
    return _mm256_or_ps(a, b);
}

RY_INLINE ry_vf ry_vf_evens(ry_vf low, ry_vf high)
{
    const __m256 pairs = _mm256_shuffle_ps(low, high, 0xd8); /* 0 2 | 8 10 | 4 6 | 12 14 */
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(pairs), 0xd8));
}

RY_INLINE void ry_vf_deinterleave(ry_vf low, ry_vf high, ry_vf *evens, ry_vf *odds)
{
    const __m256 even = _mm256_shuffle_ps(low, high, 0x88),
                 odd = _mm256_shuffle_ps(low, high, 0xdd); /* 0 2 | 8 10 | 4 6 | 12 14 */
    *evens = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(even), 0xd8));
    *odds = _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(odd), 0xd8));
}

RY_INLINE void ry_vf_interleave(ry_vf evens, ry_vf odds, ry_vf *low, ry_vf *high)
{
    const __m256 first = _mm256_unpacklo_ps(evens, odds),
                 second = _mm256_unpackhi_ps(evens, odds); /* 0 8 1 9 | 4 12 5 13 */
    *low = _mm256_permute2f128_ps(first, second, 0x20);
    *high = _mm256_permute2f128_ps(first, second, 0x31);
}

RY_INLINE ry_vf ry_vf_shift_in(ry_vf first, ry_vf v)
{
    return _mm256_blend_ps(_mm256_permutevar8x32_ps(v, _mm256_setr_epi32(0, 0, 1, 2, 3, 4, 5, 6)),
                           first, 1);
}

RY_INLINE ry_vf ry_vf_permute2(ry_vf low, ry_vf high, ry_vi index, ry_vm keep)
{
    const __m256 from_high =
        _mm256_castsi256_ps(_mm256_cmpgt_epi32(index, _mm256_set1_epi32(RY_W - 1)));
    const __m256 picked = _mm256_blendv_ps(_mm256_permutevar8x32_ps(low, index),
                                           _mm256_permutevar8x32_ps(high, index), from_high);
    return _mm256_and_ps(picked, _mm256_castsi256_ps(keep));
}

RY_INLINE ry_vf ry_vf_permute(ry_vf v, ry_vi index)
{
    return _mm256_permutevar8x32_ps(v, index);
}

RY_INLINE ry_vf ry_vf_halves(float low, float high)
{
    return _mm256_blend_ps(_mm256_set1_ps(low), _mm256_set1_ps(high), 0xf0);
}

RY_INLINE void ry_v4_store_first(float *p, int64_t n, __m128 v)
{
    if (n >= 4) {
        _mm_storeu_ps(p, v);
        return;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)p, v);
        v = _mm_movehl_ps(v, v);
        p += 2;
    }
    if (n & 1) {
        _mm_store_ss(p, v);
    }
}

/* A masked store takes some twenty cycles on AMD's processors. */
RY_INLINE void ry_vf_store_first(float *p, int64_t n, ry_vf v)
{
    if (n >= RY_W) {
        _mm256_storeu_ps(p, v);
    } else if (n >= 4) {
        _mm_storeu_ps(p, _mm256_castps256_ps128(v));
        ry_v4_store_first(p + 4, n - 4, _mm256_extractf128_ps(v, 1));
    } else {
        ry_v4_store_first(p, n, _mm256_castps256_ps128(v));
    }
}

RY_INLINE void ry_vf_store_halves(float *low, float *high, int64_t n, ry_vf v)
{
    ry_v4_store_first(low, n, _mm256_castps256_ps128(v));
    ry_v4_store_first(high, n, _mm256_extractf128_ps(v, 1));
}

RY_INLINE float ry_vf_sum(ry_vf v)
{
    __m128 s = _mm_add_ps(_mm256_castps256_ps128(v), _mm256_extractf128_ps(v, 1));
    s = _mm_add_ps(s, _mm_movehl_ps(s, s));
    return _mm_cvtss_f32(_mm_add_ss(s, _mm_movehdup_ps(s)));
}

/* clang-format off */
RY_INLINE ry_vi ry_vi_set(int32_t x) { return _mm256_set1_epi32(x); }
RY_INLINE ry_vi ry_vi_load(const int32_t *p) { return _mm256_loadu_si256((const __m256i *)p); }
RY_INLINE ry_vi ry_vi_load_m(const int32_t *p, ry_vm m) { return _mm256_maskload_epi32(p, m); }
RY_INLINE void ry_vi_store(int32_t *p, ry_vi v) { _mm256_storeu_si256((__m256i *)p, v); }
RY_INLINE void ry_vi_store_m(int32_t *p, ry_vm m, ry_vi v)
{
    ry_vf_store_m((float *)(void *)p, m, _mm256_castsi256_ps(v));
}
RY_INLINE ry_vi ry_vi_add(ry_vi a, ry_vi b) { return _mm256_add_epi32(a, b); }
RY_INLINE ry_vi ry_vi_fma(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm256_add_epi32(_mm256_mullo_epi32(a, b), c);
}
/* clang-format on */

/* There is no masked load of 16-bit elements: lane by lane. */
RY_INLINE __m128i ry_v16_load_m(const uint16_t *p, ry_vm m)
{
    const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(m));
    uint16_t lanes[RY_W] = {0};
    for (int i = 0; i < RY_W; i++) {
        if (bits >> i & 1) {
            lanes[i] = p[i];
        }
    }
    return _mm_loadu_si128((const __m128i *)lanes);
}

RY_INLINE void ry_v16_store_m(uint16_t *p, ry_vm m, __m128i v)
{
    const int bits = _mm256_movemask_ps(_mm256_castsi256_ps(m));
    if (bits == 0xff) {
        _mm_storeu_si128((__m128i *)p, v);
        return;
    }
    uint16_t lanes[RY_W];
    _mm_storeu_si128((__m128i *)lanes, v);
    for (int i = 0; i < RY_W; i++) {
        if (bits >> i & 1) {
            p[i] = lanes[i];
        }
    }
}

/* clang-format off */
RY_INLINE ry_vf ry_vf_load_f16(const uint16_t *p)
{
    return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)p));
}
RY_INLINE ry_vf ry_vf_load_f16_m(const uint16_t *p, ry_vm m)
{
    return _mm256_cvtph_ps(ry_v16_load_m(p, m));
}
RY_INLINE ry_vf ry_vf_from_bf16(__m128i v)
{
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(v), 16));
}
RY_INLINE ry_vf ry_vf_load_bf16(const uint16_t *p)
{
    return ry_vf_from_bf16(_mm_loadu_si128((const __m128i *)p));
}
RY_INLINE ry_vf ry_vf_load_bf16_m(const uint16_t *p, ry_vm m)
{
    return ry_vf_from_bf16(ry_v16_load_m(p, m));
}
/* clang-format on */

RY_INLINE void ry_vf_store_f16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    ry_v16_store_m(p, m, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}

RY_INLINE void ry_vf_store_bf16_m(uint16_t *p, ry_vm m, ry_vf v)
{
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
    const __m256i quiet = _mm256_or_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(0x40));
    const __m256i kept =
        _mm256_blendv_epi8(rounded, quiet, _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q)));
    ry_v16_store_m(
        p, m, _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1)));
}

RY_INLINE void ry_vf_transpose(ry_vf v[RY_W])
{
    ry_vf t[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[2 * i] = _mm256_unpacklo_ps(v[2 * i], v[2 * i + 1]);
        t[2 * i + 1] = _mm256_unpackhi_ps(v[2 * i], v[2 * i + 1]);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        v[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
        v[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
        v[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
        v[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        t[i] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x20);
        t[i + 4] = _mm256_permute2f128_ps(v[i], v[i + 4], 0x31);
    }
#pragma GCC unroll 8
    for (int i = 0; i < 8; i++) {
        v[i] = t[i];
    }
}

#endif
