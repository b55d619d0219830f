/* SPDX-License-Identifier: Apache-2.0 */
/* A hash table from names to ids, in a graph's arena. */
#ifndef RY_GRAPH_GRAPH_NAMES_H
#define RY_GRAPH_GRAPH_NAMES_H

#include "base/memory.h"

#define RY_NO_NAME UINT32_MAX

/* Finds values and symbols by name; kept by the functions below. */
typedef struct ry_names {
    struct ry_name_slot *slots;
    size_t used, capacity; /* capacity: a power of two */
} ry_names;

/* The name is borrowed. The first id of a name stays. False when out of memory. */
bool ry_names_add(ry_names *names, ry_arena *arena, const char *name, uint32_t id);
uint32_t ry_names_find(const ry_names *names, const char *name); /* RY_NO_NAME when there is none */
/* The same for `length` bytes of a longer text. */
uint32_t ry_names_find_part(const ry_names *names, const char *text, size_t length);
void ry_names_remove(ry_names *names, const char *name, uint32_t id);

#endif
