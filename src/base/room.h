/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of a block of memory: takes room in it, and finds the room again. */
#ifndef RY_BASE_ROOM_H
#define RY_BASE_ROOM_H

#include "base/integer.h"

/* Takes aligned room for `size` bytes from *at on, and returns where it begins. */
static inline size_t ry_room(size_t *at, size_t size)
{
    const size_t begin = *at;
    *at += ry_aligned(size);
    return begin;
}

/* The elements of type T that begin `offset` bytes from `base`, which is not const. */
#define RY_AT(T, base, offset) ((T *)(void *)((char *)(base) + (offset)))

#endif
