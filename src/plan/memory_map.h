/* SPDX-License-Identifier: Apache-2.0 */
/* Packs lifetimes into one arena: each item is alive from step `first` to step `last` (inclusive);
 * items alive at once do not overlap. Deterministic; largest first, lowest free offset. */
#ifndef RY_PLAN_MEMORY_MAP_H
#define RY_PLAN_MEMORY_MAP_H

#include "base/memory.h"

typedef struct ry_lifetime {
    size_t size; /* bytes */
    uint32_t first, last;
    size_t offset; /* result, a multiple of RY_ALIGNMENT */
} ry_lifetime;

/* `total` receives the arena's size; SIZE_MAX: it is beyond the address space, and offsets mean
 * nothing. False: out of memory for the scratch. */
bool ry_memory_map(ry_lifetime *items, size_t count, ry_arena *scratch, size_t *total);

#endif
