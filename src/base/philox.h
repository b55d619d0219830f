/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers by counting: Philox 4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers:
 * As Easy as 1, 2, 3. SC 2011).
 *
 * A number is a function of where it is used and of nothing that went before, so it has the same
 * bits whichever thread asks for it, and a run that goes on needs no state but its step:
 *
 *   key      seed low | seed high
 *   counter  block low | block high | step | stream        block = element / 4
 *
 * A stream is one purpose (a layer's dropout, the order of samples, ...), so that two purposes
 * never read the same numbers. */
#ifndef RY_BASE_PHILOX_H
#define RY_BASE_PHILOX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Four words that belong together. */
typedef struct ry_philox_block {
    uint32_t word[4];
} ry_philox_block;

static inline ry_philox_block ry_philox_round(ry_philox_block c, uint32_t key0, uint32_t key1)
{
    const uint64_t a = UINT64_C(0xD2511F53) * c.word[0], b = UINT64_C(0xCD9E8D57) * c.word[2];
    return (ry_philox_block){{(uint32_t)(b >> 32) ^ c.word[1] ^ key0, (uint32_t)b,
                              (uint32_t)(a >> 32) ^ c.word[3] ^ key1, (uint32_t)a}};
}

/* Ten rounds; the key grows by the golden ratio and by sqrt(3) - 1. */
static inline ry_philox_block ry_philox(ry_philox_block counter, uint32_t key0, uint32_t key1)
{
    for (int round = 0; round < 10; round++) {
        counter = ry_philox_round(counter, key0, key1);
        key0 += UINT32_C(0x9E3779B9);
        key1 += UINT32_C(0xBB67AE85);
    }
    return counter;
}

typedef struct ry_random {
    uint64_t seed;
    uint32_t stream, step;
} ry_random;

static inline ry_philox_block ry_random_block(const ry_random *random, uint64_t block)
{
    const ry_philox_block counter = {
        {(uint32_t)block, (uint32_t)(block >> 32), random->step, random->stream}};
    return ry_philox(counter, (uint32_t)random->seed, (uint32_t)(random->seed >> 32));
}

static inline uint32_t ry_random_word(const ry_random *random, uint64_t element)
{
    return ry_random_block(random, element / 4).word[element % 4];
}

/* From 0 inclusive to 1 exclusive, in steps of 2^-24: every value is a float. */
static inline float ry_random_uniform_of(uint32_t word)
{
    return (float)(word >> 8) * 0x1p-24f;
}

/* The standard normal number at the probability (word + 1/2) / 2^32: plain arithmetic without the
 * C library's functions, so it has the same bits on every machine. */
float ry_random_normal_of(uint32_t word);

/* Is the word's probability within 0.425 of 1/2? Then the normal number is a quotient of
 * polynomials (Wichura, AS 241: philox.c). */
static inline bool ry_random_is_near(uint32_t word)
{
    const double q = ((double)word + 0.5) * 0x1p-32 - 0.5;
    return q <= 0.425 && q >= -0.425;
}

/* Any number for other words. */
static inline float ry_random_normal_near(uint32_t word)
{
    const double q = ((double)word + 0.5) * 0x1p-32 - 0.5, r = 0.180625 - q * q;
    const double over = ((((((2.5090809287301226727e+3 * r + 3.3430575583588128105e+4) * r +
                             6.7265770927008700853e+4) *
                                r +
                            4.5921953931549871457e+4) *
                               r +
                           1.3731693765509461125e+4) *
                              r +
                          1.9715909503065514427e+3) *
                             r +
                         1.3314166789178437745e+2) *
                            r +
                        3.3871328727963666080e+0;
    const double under = ((((((5.2264952788528545610e+3 * r + 2.8729085735721942674e+4) * r +
                              3.9307895800092710610e+4) *
                                 r +
                             2.1213794301586595867e+4) *
                                r +
                            5.3941960214247511077e+3) *
                               r +
                           6.8718700749205790830e+2) *
                              r +
                          4.2313330701600911252e+1) *
                             r +
                         1.0;
    return (float)(over * q / under);
}

/* values[i] is of element first + i. */
void ry_random_uniform(const ry_random *random, uint64_t first, size_t count, float *values);
void ry_random_normal(const ry_random *random, uint64_t first, size_t count, float *values);

/* Every order of 0 ... count-1 is as likely (Fisher and Yates; a place is of 64 bits, so the bias
 * is below count / 2^64). */
void ry_random_permutation(const ry_random *random, size_t count, uint64_t *order);

#endif
