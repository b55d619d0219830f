/* SPDX-License-Identifier: Apache-2.0 */
/** @file random.h
 *  @brief Random numbers that are functions of a seed and a place: the same bits on every machine,
 *  at any number of threads, and in a run that goes on where another ended.
 *
 *  They are Philox 4x32-10 (Salmon et al., SC 2011): key = seed, counter = (element/4 as 64 bits,
 *  step, stream); element i has word i%4. */
#ifndef RYND_RANDOM_H
#define RYND_RANDOM_H

#include <rynd/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Where numbers are taken from. Plain data, the caller's. */
typedef struct rynd_random {
    uint64_t seed;
    uint32_t stream; /**< one purpose: two with other streams share no numbers */
    uint32_t step;   /**< of a run; 0 where there is none */
} rynd_random;

/** Fills `values` with numbers from 0 inclusive to 1 exclusive, multiples of 2^-24; values[i] is
 * that of element first + i. `values` may be NULL where count is 0. Fails with ARGUMENT. Any
 * thread. */
RYND_API rynd_status rynd_random_uniform(const rynd_random *random, uint64_t first, size_t count,
                                         float *values);
/** As rynd_random_uniform, with numbers of the standard normal distribution (its quantile at the
 * probability (word + 1/2) / 2^32). */
RYND_API rynd_status rynd_random_normal(const rynd_random *random, uint64_t first, size_t count,
                                        float *values);
/** Fills `order` with the numbers 0 to count-1, each order as likely as any other. `order` may be
 * NULL where count is 0. Fails with ARGUMENT. Any thread. */
RYND_API rynd_status rynd_random_permutation(const rynd_random *random, size_t count,
                                             uint64_t *order);

#ifdef __cplusplus
}
#endif
#endif
