/* SPDX-License-Identifier: Apache-2.0 */
/* The rounds of a ring. */
#include "exchange/ring.h"

size_t ry_ring_piece(const ry_ring *ring, size_t count, int i)
{
    const size_t ranks = (size_t)ring->ranks, at = (size_t)i;
    return count / ranks * at + (at < count % ranks ? at : count % ranks);
}

/* Pieces are counted round the ring. */
static int piece_at(const ry_ring *ring, int i)
{
    return ((i % ring->ranks) + ring->ranks) % ring->ranks;
}

static float *begin_of(const ry_ring *ring, float *data, size_t count, int piece)
{
    return data + ry_ring_piece(ring, count, piece);
}

static size_t size_of(const ry_ring *ring, size_t count, int piece)
{
    return ry_ring_piece(ring, count, piece + 1) - ry_ring_piece(ring, count, piece);
}

static int have_room(ry_ring *ring, size_t count)
{
    const size_t largest = size_of(ring, count, 0);
    if (largest > ring->room_count) {
        ry_release(ring->allocator, ring->room);
        ring->room = ry_allocate_array(ring->allocator, largest, sizeof *ring->room);
        ring->room_count = ring->room ? largest : 0;
    }
    return ring->room_count >= largest ? 0 : -1;
}

/* What came is of the ranks before, in their order: ours is added to it. */
static void add(float *restrict to, const float *restrict came, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to[i] = came[i] + to[i];
    }
}

static int reduce_scatter(ry_ring *ring, float *data, size_t count)
{
    for (int round = 0; round < ring->ranks - 1; round++) {
        const int give = piece_at(ring, ring->rank - round), take = piece_at(ring, give - 1);
        const size_t came = size_of(ring, count, take);
        if (ring->shift(ring->user, begin_of(ring, data, count, give), size_of(ring, count, give),
                        ring->room, came) != 0) {
            return -1;
        }
        add(begin_of(ring, data, count, take), ring->room, came);
    }
    return 0;
}

static int all_gather(ry_ring *ring, float *data, size_t count)
{
    for (int round = 0; round < ring->ranks - 1; round++) {
        const int give = piece_at(ring, ring->rank + 1 - round), take = piece_at(ring, give - 1);
        if (ring->shift(ring->user, begin_of(ring, data, count, give), size_of(ring, count, give),
                        begin_of(ring, data, count, take), size_of(ring, count, take)) != 0) {
            return -1;
        }
    }
    return 0;
}

int ry_ring_all_reduce(void *user, float *data, size_t count)
{
    ry_ring *ring = user;
    if (ring->ranks == 1 || count == 0) {
        return 0;
    }
    return have_room(ring, count) != 0 || reduce_scatter(ring, data, count) != 0
               ? -1
               : all_gather(ring, data, count);
}

void ry_ring_free(ry_ring *ring)
{
    ry_release(ring->allocator, ring->room);
    ring->room = NULL;
    ring->room_count = 0;
}
