/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out scratch, workspaces and states: parts that begin at RY_ALIGNMENT, one behind another. */
#ifndef RY_KERNELS_COMMON_ROOM_H
#define RY_KERNELS_COMMON_ROOM_H

#include "base/integer.h"

#include <stddef.h>

/* Takes `bytes` behind *end; returns their offset. */
static inline size_t ry_room_bytes(size_t *end, size_t bytes)
{
    const size_t at = *end;
    *end += ry_aligned(bytes);
    return at;
}

/* Takes `count` elements of `size` bytes behind *end; returns their offset. */
static inline size_t ry_room(size_t *end, int64_t count, size_t size)
{
    return ry_room_bytes(end, (size_t)count * size);
}

#endif
