/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers of tuning: the same for the same seed on every machine. */
#ifndef RY_TUNE_SHUFFLE_H
#define RY_TUNE_SHUFFLE_H

#include <stddef.h>
#include <stdint.h>

/* SplitMix64 (Steele, Lea and Flood, 2014): every state is a good one. */
static inline uint64_t ry_random_next(uint64_t *state)
{
    uint64_t x = *state += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* Below `count`, which is above 0: multiplied and shifted, so that no number is divided. */
static inline size_t ry_random_below(uint64_t *state, size_t count)
{
    return (size_t)((double)(ry_random_next(state) >> 11) * 0x1p-53 * (double)count);
}

/* Any order of the items, each as likely (Fisher and Yates). */
static inline void ry_shuffle(uint64_t *state, int *items, int count)
{
    for (int i = count - 1; i > 0; i--) {
        const int other = (int)ry_random_below(state, (size_t)i + 1), item = items[i];
        items[i] = items[other];
        items[other] = item;
    }
}

#endif
