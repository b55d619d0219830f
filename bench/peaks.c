/* SPDX-License-Identifier: Apache-2.0 */
/* Loops at the peak of one instruction: chains that hide its latency, all in registers. */
#include "peaks.h"

#include <stddef.h>
#include <string.h>

#ifdef __x86_64__

#include <immintrin.h>

enum { CHAINS = 12 };

/* Hides a value from the compiler, so that no round is left out. */
#define KEEP(v) __asm__ volatile("" : "+x"(v))

/* A loop of `step`, which makes `operations` of each chain and keeps them. */
#define PEAK(name, isa, vector, zero, operations, step)               \
    __attribute__((target(isa))) static double name(long rounds)      \
    {                                                                 \
        vector chain[CHAINS], a = zero, b = zero;                     \
        KEEP(a);                                                      \
        KEEP(b);                                                      \
        _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++)     \
        {                                                             \
            chain[i] = zero;                                          \
        }                                                             \
        for (long r = 0; r < rounds; r++) {                           \
            _Pragma("GCC unroll 12") for (int i = 0; i < CHAINS; i++) \
            {                                                         \
                step;                                                 \
                KEEP(chain[i]);                                       \
            }                                                         \
        }                                                             \
        return (double)rounds * CHAINS * (operations);                \
    }

PEAK(dot_512, "avx512f,avx512vnni", __m512i, _mm512_setzero_si512(), 128,
     chain[i] = _mm512_dpbusd_epi32(chain[i], a, b))
PEAK(dot_256, "avx2,avxvnni", __m256i, _mm256_setzero_si256(), 64,
     chain[i] = _mm256_dpbusd_avx_epi32(chain[i], a, b))
PEAK(pairs_512, "avx512f,avx512bw", __m512i, _mm512_setzero_si512(), 64, KEEP(a);
     chain[i] = _mm512_add_epi32(chain[i], _mm512_madd_epi16(a, b)))
PEAK(pairs_256, "avx2", __m256i, _mm256_setzero_si256(), 32, KEEP(a);
     chain[i] = _mm256_add_epi32(chain[i], _mm256_madd_epi16(a, b)))
PEAK(f32_512, "avx512f", __m512, _mm512_setzero_ps(), 32,
     chain[i] = _mm512_fmadd_ps(a, b, chain[i]))
PEAK(f32_256, "avx2,fma", __m256, _mm256_setzero_ps(), 16,
     chain[i] = _mm256_fmadd_ps(a, b, chain[i]))

/* The first row that fits. */
static const bench_peak peaks[] = {
    {"_avx512_vnni", "qconv", dot_512}, {"_avx_vnni", "qconv", dot_256},
    {"_avx512", "pairs", pairs_512},    {"_avx2", "pairs", pairs_256},
    {"_avx512", "", f32_512},           {"_avx2", "", f32_256},
};

const bench_peak *bench_find_peak(const char *kernel)
{
    const size_t length = strlen(kernel);
    for (const bench_peak *p = peaks; p < peaks + sizeof peaks / sizeof *peaks; p++) {
        const size_t end = strlen(p->suffix);
        if (length >= end && !strcmp(kernel + length - end, p->suffix) && strstr(kernel, p->part)) {
            return p;
        }
    }
    return NULL;
}

#else

const bench_peak *bench_find_peak(const char *kernel)
{
    (void)kernel;
    return NULL;
}

#endif
