/* SPDX-License-Identifier: Apache-2.0 */
/* Philox 4x32-10 of blocks side by side (base/philox.h). */
#ifndef RY_KERNELS_CPU_SIMD_PHILOX_LANES_H
#define RY_KERNELS_CPU_SIMD_PHILOX_LANES_H

#include "base/philox.h"
#include "kernels/cpu/simd/simd.h"

enum { RY_PHILOX_BLOCKS = 16, RY_PHILOX_WORDS = 4 * RY_PHILOX_BLOCKS };

/* Vectors of 64-bit lanes. A lane holds one word of a block in its low half; the high half is
 * garbage, which ry_vq_mul does not read. */
#if defined(__AVX512F__)
typedef __m512i ry_vq;
enum { RY_VQ_LANES = 8 };
#define ry_vq_load(from)        _mm512_loadu_si512(from)
#define ry_vq_store(to, v)      _mm512_storeu_si512(to, v)
#define ry_vq_set(number)       _mm512_set1_epi64((long long)(number))
#define ry_vq_mul(a, b)         _mm512_mul_epu32(a, b) /* low halves multiplied to full width */
#define ry_vq_xor3(a, b, c)     _mm512_ternarylogic_epi64(a, b, c, 0x96)
#define ry_vq_high(a)           _mm512_srli_epi64(a, 32)
#define ry_vq_low_of_both(a, b) /* the low half of a, and above it that of b */ \
    _mm512_mask_blend_epi32(0xaaaa, a, _mm512_slli_epi64(b, 32))
#define ry_vq_even_pairs(a, b) _mm512_unpacklo_epi64(a, b)
#define ry_vq_odd_pairs(a, b)  _mm512_unpackhi_epi64(a, b)
#elif defined(__AVX2__)
typedef __m256i ry_vq;
enum { RY_VQ_LANES = 4 };
#define ry_vq_load(from)        _mm256_loadu_si256((const void *)(from))
#define ry_vq_store(to, v)      _mm256_storeu_si256((void *)(to), v)
#define ry_vq_set(number)       _mm256_set1_epi64x((long long)(number))
#define ry_vq_mul(a, b)         _mm256_mul_epu32(a, b)
#define ry_vq_xor3(a, b, c)     _mm256_xor_si256(_mm256_xor_si256(a, b), c)
#define ry_vq_high(a)           _mm256_srli_epi64(a, 32)
#define ry_vq_low_of_both(a, b) _mm256_blend_epi32(a, _mm256_slli_epi64(b, 32), 0xaa)
#define ry_vq_even_pairs(a, b)  _mm256_unpacklo_epi64(a, b)
#define ry_vq_odd_pairs(a, b)   _mm256_unpackhi_epi64(a, b)
#endif

#ifdef ry_vq_mul
/* Even lanes hold the first half of a vector's blocks, odd ones the second, so that pairs of lanes
 * have their words in order. */
RY_INLINE void ry_philox_begin(const ry_random *random, uint64_t first, ry_vq c[4])
{
    uint64_t block[RY_VQ_LANES];
    for (int l = 0; l < RY_VQ_LANES; l++) {
        block[l] = first + (uint64_t)(l / 2 + l % 2 * (RY_VQ_LANES / 2));
    }
    c[0] = ry_vq_load(block);
    c[1] = ry_vq_high(c[0]);
    c[2] = ry_vq_set(random->step);
    c[3] = ry_vq_set(random->stream);
}

RY_INLINE void ry_philox_end(const ry_vq c[4], uint32_t *words)
{
    const ry_vq first = ry_vq_low_of_both(c[0], c[1]), second = ry_vq_low_of_both(c[2], c[3]);
    ry_vq_store(words, ry_vq_even_pairs(first, second));
    ry_vq_store(words + 2 * RY_VQ_LANES, ry_vq_odd_pairs(first, second));
}

/* Words of the blocks `block` on: those of elements 4 * block on. */
RY_INLINE void ry_philox_words(const ry_random *random, uint64_t block,
                               uint32_t words[RY_PHILOX_WORDS])
{
    enum { VECTORS = RY_PHILOX_BLOCKS / RY_VQ_LANES };
    const ry_vq m0 = ry_vq_set(UINT32_C(0xD2511F53)), m1 = ry_vq_set(UINT32_C(0xCD9E8D57));
    uint32_t key0 = (uint32_t)random->seed, key1 = (uint32_t)(random->seed >> 32);
    ry_vq c[VECTORS][4];
    for (int v = 0; v < VECTORS; v++) {
        ry_philox_begin(random, block + (uint64_t)(v * RY_VQ_LANES), c[v]);
    }
    for (int round = 0; round < 10; round++) {
        const ry_vq k0 = ry_vq_set(key0), k1 = ry_vq_set(key1);
#pragma GCC unroll 4
        for (int v = 0; v < VECTORS; v++) {
            const ry_vq a = ry_vq_mul(c[v][0], m0), b = ry_vq_mul(c[v][2], m1);
            c[v][0] = ry_vq_xor3(ry_vq_high(b), c[v][1], k0);
            c[v][2] = ry_vq_xor3(ry_vq_high(a), c[v][3], k1);
            c[v][1] = b;
            c[v][3] = a;
        }
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
    for (int v = 0; v < VECTORS; v++) {
        ry_philox_end(c[v], words + v * 4 * RY_VQ_LANES);
    }
}
#else
RY_INLINE void ry_philox_words(const ry_random *random, uint64_t block,
                               uint32_t words[RY_PHILOX_WORDS])
{
    for (int i = 0; i < RY_PHILOX_BLOCKS; i++) {
        const ry_philox_block b = ry_random_block(random, block + (uint64_t)i);
        memcpy(words + 4 * i, b.word, sizeof b.word);
    }
}
#endif

#endif
