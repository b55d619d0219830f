/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum cut of a graph: the cheapest labelling of vertices with one of two labels, where vertices
 * have a cost for each label and edges one for ends that differ (Greig, Porteous and Seheult,
 * 1989). */
#ifndef RY_PLAN_MINIMUM_CUT_H
#define RY_PLAN_MINIMUM_CUT_H

#include "base/memory.h"

/* Vertices of the two labels themselves. */
enum { RY_CUT_FIRST, RY_CUT_SECOND, RY_CUT_LABELS };

typedef struct ry_cut_edge {
    uint32_t to, next; /* the next edge of the same vertex; edge e's reverse is e ^ 1 */
    int64_t left;      /* remaining capacity */
} ry_cut_edge;

typedef struct ry_cut {
    ry_arena *arena;
    uint32_t vertices;
    uint32_t *head; /* per vertex: its first edge; 0 and 1: none */
    uint32_t *at, *level, *queue;
    ry_cut_edge *edges;
    size_t edge_count, edge_capacity;
} ry_cut;

/* Room for `vertices`, the two labels among them; memory comes from the arena. False: out of
 * memory. */
bool ry_cut_start(ry_cut *cut, ry_arena *arena, uint32_t vertices);

/* `cost` where a has the first label and b the second, `back` where it is the other way round. */
bool ry_cut_add(ry_cut *cut, uint32_t a, uint32_t b, int64_t cost, int64_t back);

/* Labels every vertex: second[v]. */
void ry_cut_solve(ry_cut *cut, bool *second);

#endif
