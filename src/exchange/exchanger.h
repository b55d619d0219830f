/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that adds up buckets over all ranks while its owner goes on.
 *
 *     owner    begin(0) .. begin(1) ............ wait(0) .. wait(1)
 *     thread          all_reduce(0) all_reduce(1)
 *
 * Buckets go in their order, whatever order they were begun in, so that all ranks add up the same.
 * Begun and waited for by one thread; a round is over when every bucket was waited for. */
#ifndef RY_EXCHANGE_EXCHANGER_H
#define RY_EXCHANGE_EXCHANGER_H

#include "base/memory.h"
#include "base/status.h"

#include <rynd/exchange.h>

typedef struct ry_bucket {
    float *data;
    size_t count;
} ry_bucket;

typedef struct ry_exchanger ry_exchanger;

/* Copies the exchange and the list; the buckets' memory is the caller's, and outlives it. */
rynd_status ry_exchanger_create(const ry_allocator *allocator, const rynd_exchange *exchange,
                                const ry_bucket *buckets, size_t count, ry_exchanger **exchanger,
                                ry_error *error);
/* Waits for the all_reduce at hand. NULL is allowed. */
void ry_exchanger_destroy(ry_exchanger *exchanger);

/* The bucket's memory is the thread's until it was waited for. */
void ry_exchanger_begin(ry_exchanger *exchanger, size_t bucket);
/* Fails where all_reduce did, from then on always. */
rynd_status ry_exchanger_wait(ry_exchanger *exchanger, size_t bucket, ry_error *error);

#endif
