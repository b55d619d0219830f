/* SPDX-License-Identifier: Apache-2.0 */
/* Packs lifetimes into one arena: each item is alive from step `first` to step `last` (inclusive); items alive at once do not overlap.
 * Deterministic; largest first, lowest free offset. Returns the size of the arena. */
#ifndef RY_PLAN_MEMORY_MAP_H
#define RY_PLAN_MEMORY_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct ry_lifetime {
    size_t size; /* bytes */
    uint32_t first, last;
    size_t offset; /* result, a multiple of RY_ALIGNMENT */
} ry_lifetime;

/* order and done: scratch of `count`; done is cleared by the caller. */
size_t ry_memory_map(ry_lifetime *items, size_t count, uint32_t *order, bool *done);

#endif
