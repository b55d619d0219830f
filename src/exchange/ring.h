/* SPDX-License-Identifier: Apache-2.0 */
/* All-reduce on a ring: ranks hand pieces to the next one, and take them from the one before.
 *
 * The vector is cut into as many pieces as there are ranks. Rank r begins with piece r; in each of
 * ranks - 1 rounds it hands on what it has of a piece, takes the piece before, and adds its own to
 * it. Then it has all of piece r + 1, and ranks - 1 further rounds hand the sums on.
 *
 *     3 ranks, piece 0:   rank 0 --a0--> rank 1 --a0+a1--> rank 2 --sum--> rank 0 --sum--> rank 1
 *
 * So the order of additions depends on the number of ranks, the count and the place of an element,
 * and all ranks have the same bits. Each hands on 2 (ranks - 1) / ranks of the vector, the least
 * possible (Patarasuk and Yuan, "Bandwidth optimal all-reduce algorithms", JPDC 2009). */
#ifndef RY_EXCHANGE_RING_H
#define RY_EXCHANGE_RING_H

#include "base/memory.h"

/* Hands `sent` floats to the next rank and takes `received` from the one before; 0: done. */
typedef int ry_shift(void *user, const float *send, size_t sent, float *receive, size_t received);

typedef struct ry_ring {
    int rank, ranks;
    ry_shift *shift;
    void *user;
    float *room; /* for a piece on its way */
    size_t room_count;
    const ry_allocator *allocator;
} ry_ring;

/* Where piece i of `count` floats begins. */
size_t ry_ring_piece(const ry_ring *ring, size_t count, int i);

/* As rynd_exchange.all_reduce; `user` is a ring. Takes memory only where `count` is larger than
 * before. */
int ry_ring_all_reduce(void *user, float *data, size_t count);
void ry_ring_free(ry_ring *ring);

#endif
