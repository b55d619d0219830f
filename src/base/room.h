/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of a block of memory: takes room in it, and finds the room again. */
#ifndef RY_BASE_ROOM_H
#define RY_BASE_ROOM_H

#include "base/integer.h"

/* Takes aligned room for `bytes` behind *end; returns their offset. */
static inline size_t ry_room_bytes(size_t *end, size_t bytes)
{
    const size_t at = *end;
    *end += ry_aligned(bytes);
    return at;
}

/* Takes aligned room for `count` elements of `size` bytes behind *end; returns their offset. */
static inline size_t ry_room(size_t *end, int64_t count, size_t size)
{
    return ry_room_bytes(end, (size_t)count * size);
}

/* The elements of type T that begin `offset` bytes from `base`, which is not const. */
#define RY_AT(T, base, offset) ((T *)(void *)((char *)(base) + (offset)))

#endif
