/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the arena: values, alive from the step that makes them to their last reader, and
 * workspaces, alive during their step. A value may overwrite one that ends in the step that makes
 * it, if that step can write over its input (in_place.h). */
#ifndef RY_PLAN_ARENA_MAP_H
#define RY_PLAN_ARENA_MAP_H

#include "plan/memory_map.h"

/* Values, by their places in the list: `next` may be stored where `old` is. */
typedef struct ry_overwrite {
    uint32_t next, old;
    bool done; /* result: it is */
} ry_overwrite;

typedef struct ry_arena_content {
    ry_lifetime *values, *workspaces;
    size_t value_count, workspace_count;
    /* in the order in which they are tried; those whose sizes differ, or whose lives do not meet in
     * one step, are left out */
    ry_overwrite *overwrites;
    size_t overwrite_count;
} ry_arena_content;

/* Offsets of all, and what is overwritten: the smaller of two maps, of which one overwrites nothing
 * and has all workspaces at one place. `total` and the result are those of ry_memory_map. */
bool ry_arena_map(ry_arena_content *content, ry_arena *scratch, size_t *total);

#endif
