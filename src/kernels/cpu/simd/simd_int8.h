/* SPDX-License-Identifier: Apache-2.0 */
/* Words for products of bytes with sums of 32 bits, beside those of simd.h.
 *
 *   ry_vi_dot_bytes(a, b, c)   c + the four products of each lane's bytes: a's are unsigned, b's
 *                              signed. Exact, modulo 2^32. For instruction sets that have it
 *   ry_vi_dot_pairs(a, b, c)   c + the two products of each lane's numbers of 16 bits, modulo 2^32;
 *                              not both pairs are twice -2^15
 *   RY_BYTES_LANE              how ry_vi_dot_bytes multiplies; with RY_LANE_SIGNED_QUAD a's bytes
 *                              count 128 less
 *   ry_vi_even_bytes(v), _odd_bytes  bytes 0 and 2, and 1 and 3, of each lane as 16 bits
 *   ry_vf_from_vi(v)           lanes as floats, rounded to nearest
 *   ry_vi_round(v)             lanes as integers, halves to even; INT32_MIN below int32, any number
 *                              above it
 *   ry_vf_round(v)             the same as floats, for lanes within int32
 *   ry_vf_within(v, low, high) v within bounds: low's sign is set, high's is not. Compares integers,
 *                              which more units do than floats
 *   ry_vi_load_u8(p, n)        the first n of RY_W bytes, one a lane; 0 in others
 *   ry_vf_load_u8(p, n)        the same as floats, each RY_BYTES_BASE larger
 *   ry_vi_store_u8(p, n, v)    stores the first n lanes, which are 0 to 255, as bytes
 *   ry_vi_load_bytes(p, n)     the first n of 4 RY_W bytes in a row; 0 behind them
 *   ry_vi_store_bytes(p, n, v) stores the first n of 4 RY_W bytes
 *   ry_vi_interleave_bytes(a, b, c, d, q)  lanes (a[i], b[i], c[i], d[i]), in four vectors, i in an
 *                              order of the instruction set's own
 *   ry_vi_join_bytes(q, b)     four vectors of lanes in that order, plus b's zero, within its bounds,
 *                              as a row of bytes
 *   ry_vi_pack_bytes(q, b)     the same for lanes in order: the bytes of q[0] come first
 *   ry_vi_store_part(p, v, part, parts)  stores part number `part` of 2 or 4 equal parts of v */
#ifndef RY_KERNELS_CPU_SIMD_SIMD_INT8_H
#define RY_KERNELS_CPU_SIMD_SIMD_INT8_H

#include "kernels/cpu/simd/simd.h"

/* Added to lanes before they become bytes, and the bytes' bounds. */
typedef struct ry_byte_pack {
    ry_vi zero;      /* 16 bits, twice in a lane */
    ry_vi low, high; /* 8 bits, four times in a lane */
} ry_byte_pack;

RY_INLINE ry_byte_pack ry_byte_pack_of(int32_t zero, int32_t low, int32_t high)
{
    return (ry_byte_pack){ry_vi_set(zero * 0x00010001),
                          ry_vi_set((int32_t)((uint32_t)low * 0x01010101u)),
                          ry_vi_set((int32_t)((uint32_t)high * 0x01010101u))};
}

#if defined(__AVX512F__)

RY_INLINE ry_vi ry_vi_dot_pairs(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm512_add_epi32(c, _mm512_madd_epi16(a, b));
}

#if defined(__AVX512VNNI__)

#define RY_BYTES_LANE RY_LANE_QUAD

RY_INLINE ry_vi ry_vi_dot_bytes(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm512_dpbusd_epi32(c, a, b);
}

#endif

RY_INLINE ry_vi ry_vi_even_bytes(ry_vi v)
{
    return _mm512_and_si512(v, _mm512_set1_epi16(0xff));
}

RY_INLINE ry_vi ry_vi_odd_bytes(ry_vi v)
{
    return _mm512_srli_epi16(v, 8);
}

RY_INLINE ry_vf ry_vf_from_vi(ry_vi v)
{
    return _mm512_cvtepi32_ps(v);
}

RY_INLINE ry_vi ry_vi_round(ry_vf v)
{
    return _mm512_cvtps_epi32(v);
}

RY_INLINE ry_vf ry_vf_round(ry_vf v)
{
    return _mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

RY_INLINE ry_vf ry_vf_within(ry_vf v, ry_vf low, ry_vf high)
{
    const ry_vi least = _mm512_min_epu32(_mm512_castps_si512(v), _mm512_castps_si512(low));
    return _mm512_castsi512_ps(_mm512_min_epi32(least, _mm512_castps_si512(high)));
}

RY_INLINE ry_vi ry_vi_load_u8(const uint8_t *p, int64_t n)
{
    return _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(ry_vm_first(n), p));
}

/* A byte below the exponent of 2^23 is a float: no conversion. */
#define RY_BYTES_BASE 0x1p23f

RY_INLINE ry_vf ry_vf_load_u8(const uint8_t *p, int64_t n)
{
    const __m128i bytes = n >= RY_W ? _mm_loadu_si128((const __m128i *)(const void *)p)
                                    : _mm_maskz_loadu_epi8(ry_vm_first(n), p);
    const __m512i lane = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
    const __m512i base = _mm512_castps_si512(_mm512_set1_ps(RY_BYTES_BASE));
    return _mm512_castsi512_ps(
        _mm512_mask_shuffle_epi8(base, 0x1111111111111111u, _mm512_broadcast_i32x4(bytes), lane));
}

RY_INLINE void ry_vi_store_u8(uint8_t *p, int64_t n, ry_vi v)
{
    if (n >= RY_W) {
        _mm_storeu_si128((__m128i *)(void *)p, _mm512_cvtepi32_epi8(v));
    } else {
        _mm_mask_storeu_epi8(p, ry_vm_first(n), _mm512_cvtepi32_epi8(v));
    }
}

RY_INLINE ry_vi ry_vi_load_bytes(const uint8_t *p, int64_t n)
{
    return n >= 64 ? _mm512_loadu_si512(p) : _mm512_maskz_loadu_epi8(((__mmask64)1 << n) - 1, p);
}

RY_INLINE void ry_vi_store_bytes(uint8_t *p, int64_t n, ry_vi v)
{
    if (n >= 64) {
        _mm512_storeu_si512(p, v);
    } else {
        _mm512_mask_storeu_epi8(p, ((__mmask64)1 << n) - 1, v);
    }
}

RY_INLINE void ry_vi_interleave_bytes(ry_vi a, ry_vi b, ry_vi c, ry_vi d, ry_vi q[4])
{
    const ry_vi low = _mm512_unpacklo_epi8(a, b), high = _mm512_unpackhi_epi8(a, b);
    const ry_vi next_low = _mm512_unpacklo_epi8(c, d), next_high = _mm512_unpackhi_epi8(c, d);
    q[0] = _mm512_unpacklo_epi16(low, next_low);
    q[1] = _mm512_unpackhi_epi16(low, next_low);
    q[2] = _mm512_unpacklo_epi16(high, next_high);
    q[3] = _mm512_unpackhi_epi16(high, next_high);
}

RY_INLINE ry_vi ry_vi_join_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    const ry_vi first = _mm512_adds_epi16(_mm512_packs_epi32(q[0], q[1]), b->zero);
    const ry_vi second = _mm512_adds_epi16(_mm512_packs_epi32(q[2], q[3]), b->zero);
    return _mm512_min_epu8(_mm512_max_epu8(_mm512_packus_epi16(first, second), b->low), b->high);
}

RY_INLINE ry_vi ry_vi_pack_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    const ry_vi order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    return _mm512_permutexvar_epi32(order, ry_vi_join_bytes(q, b));
}

RY_INLINE void ry_vi_store_part(uint8_t *p, ry_vi v, const int part, const int parts)
{
    __m128i *quarter = (__m128i *)(void *)p;
    if (parts == 2) {
        _mm256_storeu_si256((__m256i *)(void *)p,
                            part ? _mm512_extracti64x4_epi64(v, 1) : _mm512_castsi512_si256(v));
    } else if (part == 0) {
        _mm_storeu_si128(quarter, _mm512_castsi512_si128(v));
    } else {
        _mm_storeu_si128(quarter, part == 1   ? _mm512_extracti32x4_epi32(v, 1)
                                  : part == 2 ? _mm512_extracti32x4_epi32(v, 2)
                                              : _mm512_extracti32x4_epi32(v, 3));
    }
}

#elif defined(__AVX2__)

RY_INLINE ry_vi ry_vi_dot_pairs(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm256_add_epi32(c, _mm256_madd_epi16(a, b));
}

#if defined(__AVXVNNI__)

#define RY_BYTES_LANE RY_LANE_QUAD

RY_INLINE ry_vi ry_vi_dot_bytes(ry_vi a, ry_vi b, ry_vi c)
{
    return _mm256_dpbusd_avx_epi32(c, a, b);
}

#endif

RY_INLINE ry_vi ry_vi_even_bytes(ry_vi v)
{
    return _mm256_and_si256(v, _mm256_set1_epi16(0xff));
}

RY_INLINE ry_vi ry_vi_odd_bytes(ry_vi v)
{
    return _mm256_srli_epi16(v, 8);
}

RY_INLINE ry_vf ry_vf_from_vi(ry_vi v)
{
    return _mm256_cvtepi32_ps(v);
}

RY_INLINE ry_vi ry_vi_round(ry_vf v)
{
    return _mm256_cvtps_epi32(v);
}

RY_INLINE ry_vf ry_vf_round(ry_vf v)
{
    return _mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
}

RY_INLINE ry_vf ry_vf_within(ry_vf v, ry_vf low, ry_vf high)
{
    const ry_vi least = _mm256_min_epu32(_mm256_castps_si256(v), _mm256_castps_si256(low));
    return _mm256_castsi256_ps(_mm256_min_epi32(least, _mm256_castps_si256(high)));
}

RY_INLINE ry_vi ry_vi_load_u8(const uint8_t *p, int64_t n)
{
    uint8_t bytes[8] = {0};
    if (n >= RY_W) {
        return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)p));
    }
    memcpy(bytes, p, (size_t)n);
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)bytes));
}

#define RY_BYTES_BASE 0.0f

RY_INLINE ry_vf ry_vf_load_u8(const uint8_t *p, int64_t n)
{
    return _mm256_cvtepi32_ps(ry_vi_load_u8(p, n));
}

RY_INLINE void ry_vi_store_u8(uint8_t *p, int64_t n, ry_vi v)
{
    const __m128i halves =
        _mm_packs_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    const __m128i bytes = _mm_packus_epi16(halves, halves);
    if (n >= RY_W) {
        _mm_storel_epi64((__m128i *)(void *)p, bytes);
    } else {
        uint8_t all[16];
        _mm_storeu_si128((__m128i *)(void *)all, bytes);
        memcpy(p, all, (size_t)n);
    }
}

RY_INLINE ry_vi ry_vi_load_bytes(const uint8_t *p, int64_t n)
{
    ry_vi v;
    if (n >= (int64_t)sizeof v) {
        memcpy(&v, p, sizeof v);
    } else {
        uint8_t bytes[sizeof v] = {0};
        memcpy(bytes, p, (size_t)n);
        memcpy(&v, bytes, sizeof v);
    }
    return v;
}

RY_INLINE void ry_vi_store_bytes(uint8_t *p, int64_t n, ry_vi v)
{
    memcpy(p, &v, n >= (int64_t)sizeof v ? sizeof v : (size_t)n);
}

RY_INLINE void ry_vi_interleave_bytes(ry_vi a, ry_vi b, ry_vi c, ry_vi d, ry_vi q[4])
{
    const ry_vi low = _mm256_unpacklo_epi8(a, b), high = _mm256_unpackhi_epi8(a, b);
    const ry_vi next_low = _mm256_unpacklo_epi8(c, d), next_high = _mm256_unpackhi_epi8(c, d);
    q[0] = _mm256_unpacklo_epi16(low, next_low);
    q[1] = _mm256_unpackhi_epi16(low, next_low);
    q[2] = _mm256_unpacklo_epi16(high, next_high);
    q[3] = _mm256_unpackhi_epi16(high, next_high);
}

RY_INLINE ry_vi ry_vi_join_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    const ry_vi first = _mm256_adds_epi16(_mm256_packs_epi32(q[0], q[1]), b->zero);
    const ry_vi second = _mm256_adds_epi16(_mm256_packs_epi32(q[2], q[3]), b->zero);
    return _mm256_min_epu8(_mm256_max_epu8(_mm256_packus_epi16(first, second), b->low), b->high);
}

RY_INLINE ry_vi ry_vi_pack_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    return _mm256_permutevar8x32_epi32(ry_vi_join_bytes(q, b),
                                       _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0));
}

RY_INLINE void ry_vi_store_part(uint8_t *p, ry_vi v, const int part, const int parts)
{
    __m128i *to = (__m128i *)(void *)p;
    const __m128i half =
        part >= parts / 2 ? _mm256_extracti128_si256(v, 1) : _mm256_castsi256_si128(v);
    if (parts == 2) {
        _mm_storeu_si128(to, half);
    } else if (part % 2) {
        _mm_storeh_pd((double *)(void *)p, _mm_castsi128_pd(half));
    } else {
        _mm_storel_epi64(to, half);
    }
}

#else

typedef uint32_t ry_vi_bits __attribute__((vector_size(sizeof(ry_vi))));

RY_INLINE ry_vi ry_vi_even_bytes(ry_vi v)
{
    return (ry_vi)((ry_vi_bits)v & 0x00ff00ffu);
}

RY_INLINE ry_vi ry_vi_odd_bytes(ry_vi v)
{
    return (ry_vi)((ry_vi_bits)v >> 8 & 0x00ff00ffu);
}

#if defined(RY_NEON)

RY_INLINE ry_vi ry_vi_dot_pairs(ry_vi a, ry_vi b, ry_vi c)
{
    const int16x8_t x = vreinterpretq_s16_s32(a), y = vreinterpretq_s16_s32(b);
    const ry_vi low = vmull_s16(vget_low_s16(x), vget_low_s16(y)), high = vmull_high_s16(x, y);
    return vaddq_s32(c, vpaddq_s32(low, high));
}

#else

RY_INLINE ry_vi ry_vi_dot_pairs(ry_vi a, ry_vi b, ry_vi c)
{
    const ry_vi x = (ry_vi)((ry_vi_bits)a << 16) >> 16, y = (ry_vi)((ry_vi_bits)b << 16) >> 16;
    return (ry_vi)((ry_vi_bits)c + (ry_vi_bits)(x * y) + (ry_vi_bits)((a >> 16) * (b >> 16)));
}

#endif

#if defined(__ARM_FEATURE_DOTPROD)

#define RY_BYTES_LANE RY_LANE_SIGNED_QUAD

RY_INLINE ry_vi ry_vi_dot_bytes(ry_vi a, ry_vi b, ry_vi c)
{
    const uint8x16_t x = veorq_u8(vreinterpretq_u8_s32(a), vdupq_n_u8(0x80));
    return vdotq_s32(c, vreinterpretq_s8_u8(x), vreinterpretq_s8_s32(b));
}

#else

#define RY_BYTES_LANE RY_LANE_QUAD

RY_INLINE ry_vi ry_vi_dot_bytes(ry_vi a, ry_vi b, ry_vi c)
{
    uint8_t unsigned_bytes[4 * RY_W];
    int8_t signed_bytes[4 * RY_W];
    int32_t sums[RY_W];
    memcpy(unsigned_bytes, &a, sizeof unsigned_bytes);
    memcpy(signed_bytes, &b, sizeof signed_bytes);
    ry_vi_store(sums, c);
    for (int i = 0; i < RY_W; i++) {
        int32_t sum = 0;
        for (int j = 0; j < 4; j++) {
            sum += unsigned_bytes[4 * i + j] * signed_bytes[4 * i + j];
        }
        sums[i] = (int32_t)((uint32_t)sums[i] + (uint32_t)sum);
    }
    return ry_vi_load(sums);
}

#endif

RY_INLINE ry_vf ry_vf_from_vi(ry_vi v)
{
    int32_t from[RY_W];
    float to[RY_W];
    ry_vi_store(from, v);
    for (int i = 0; i < RY_W; i++) {
        to[i] = (float)from[i];
    }
    return ry_vf_load(to);
}

RY_INLINE ry_vi ry_vi_round(ry_vf v)
{
    float from[RY_W];
    int32_t to[RY_W];
    ry_vf_store(from, v);
    for (int i = 0; i < RY_W; i++) {
        to[i] = from[i] >= -0x1p31f ? (int32_t)__builtin_rintf(from[i]) : INT32_MIN;
    }
    return ry_vi_load(to);
}

RY_INLINE ry_vf ry_vf_round(ry_vf v)
{
    return ry_vf_from_vi(ry_vi_round(v));
}

RY_INLINE ry_vf ry_vf_within(ry_vf v, ry_vf low, ry_vf high)
{
    return ry_vf_min(high, ry_vf_max(low, v));
}

RY_INLINE ry_vi ry_vi_load_u8(const uint8_t *p, int64_t n)
{
    int32_t to[RY_W];
    for (int i = 0; i < RY_W; i++) {
        to[i] = i < n ? p[i] : 0;
    }
    return ry_vi_load(to);
}

#define RY_BYTES_BASE 0.0f

RY_INLINE ry_vf ry_vf_load_u8(const uint8_t *p, int64_t n)
{
    return ry_vf_from_vi(ry_vi_load_u8(p, n));
}

RY_INLINE void ry_vi_store_u8(uint8_t *p, int64_t n, ry_vi v)
{
    int32_t from[RY_W];
    ry_vi_store(from, v);
    for (int i = 0; i < RY_W && i < n; i++) {
        p[i] = (uint8_t)from[i];
    }
}

RY_INLINE ry_vi ry_vi_load_bytes(const uint8_t *p, int64_t n)
{
    ry_vi v;
    if (n >= (int64_t)sizeof v) {
        memcpy(&v, p, sizeof v);
    } else {
        uint8_t bytes[sizeof v] = {0};
        memcpy(bytes, p, (size_t)n);
        memcpy(&v, bytes, sizeof v);
    }
    return v;
}

RY_INLINE void ry_vi_store_bytes(uint8_t *p, int64_t n, ry_vi v)
{
    memcpy(p, &v, n >= (int64_t)sizeof v ? sizeof v : (size_t)n);
}

RY_INLINE void ry_vi_interleave_bytes(ry_vi a, ry_vi b, ry_vi c, ry_vi d, ry_vi q[4])
{
    uint8_t from[4][4 * RY_W], to[16 * RY_W];
    memcpy(from[0], &a, sizeof a);
    memcpy(from[1], &b, sizeof b);
    memcpy(from[2], &c, sizeof c);
    memcpy(from[3], &d, sizeof d);
    for (int i = 0; i < 4 * RY_W; i++) {
        for (int j = 0; j < 4; j++) {
            to[4 * i + j] = from[j][i];
        }
    }
    memcpy(q, to, sizeof to);
}

RY_INLINE ry_vi ry_vi_pack_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    int32_t from[4 * RY_W], zero[RY_W];
    uint8_t to[4 * RY_W], low[4 * RY_W], high[4 * RY_W];
    ry_vi v;
    memcpy(from, q, sizeof from);
    ry_vi_store(zero, b->zero);
    memcpy(low, &b->low, sizeof low);
    memcpy(high, &b->high, sizeof high);
    for (int i = 0; i < 4 * RY_W; i++) {
        /* beyond 16 bits, where the sum might not fit */
        const int32_t byte = from[i] < INT16_MIN   ? INT16_MIN
                             : from[i] > INT16_MAX ? INT16_MAX
                                                   : from[i] + (zero[0] & 0xff);
        to[i] = (uint8_t)(byte < low[0] ? low[0] : byte > high[0] ? high[0] : byte);
    }
    memcpy(&v, to, sizeof v);
    return v;
}

RY_INLINE ry_vi ry_vi_join_bytes(const ry_vi q[4], const ry_byte_pack *b)
{
    return ry_vi_pack_bytes(q, b);
}

RY_INLINE void ry_vi_store_part(uint8_t *p, ry_vi v, const int part, const int parts)
{
    const size_t size = sizeof v / (size_t)parts;
    memcpy(p, (const char *)&v + (size_t)part * size, size);
}

#endif

#endif
