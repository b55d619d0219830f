/* SPDX-License-Identifier: Apache-2.0 */
/** @file random.h
 *  @brief Experimental (see <rynd/rynd.h>): reproducible random numbers.
 *
 * Each number is a function of seed, stream, step and index: the same bits on every machine, with
 * any number of threads, and in a resumed run. The generator is Philox 4x32-10 (Salmon et al., SC
 * 2011) with key = seed and counter = (index / 4 as 64 bits, step, stream); element i takes word
 * i % 4. */
#ifndef RYND_RANDOM_H
#define RYND_RANDOM_H

#include <rynd/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A sequence of random numbers; plain data. */
typedef struct rynd_random {
    uint64_t seed;
    uint32_t stream; /**< purpose: different streams share no numbers */
    uint32_t step;   /**< step of a run; 0 without steps */
} rynd_random;

/** Fills values[0 .. count-1] with the elements first, first + 1, ... of the uniform distribution
 * on [0, 1): multiples of 2^-24. `values` may be NULL if count is 0. Any thread. */
RYND_API rynd_status rynd_random_uniform(const rynd_random *random, uint64_t first, size_t count,
                                         float *values);

/** The same for the standard normal distribution: its quantile at (word + 1/2) / 2^32. */
RYND_API rynd_status rynd_random_normal(const rynd_random *random, uint64_t first, size_t count,
                                        float *values);

/** Fills `order` with a random permutation of 0 to count - 1, all equally likely. `order` may be
 * NULL if count is 0. Any thread. */
RYND_API rynd_status rynd_random_permutation(const rynd_random *random, size_t count,
                                             uint64_t *order);

#ifdef __cplusplus
}
#endif
#endif
