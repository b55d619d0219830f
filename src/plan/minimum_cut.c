/* SPDX-License-Identifier: Apache-2.0 */
/* Minimum cut by maximum flow, in levels (Dinic, 1970). */
#include "plan/minimum_cut.h"

#include <string.h>

bool ry_cut_start(ry_cut *cut, ry_arena *arena, uint32_t vertices)
{
    *cut = (ry_cut){.arena = arena, .vertices = vertices, .edge_count = 2, .edge_capacity = 64};
    cut->edges = RY_TAKE(arena, ry_cut_edge, cut->edge_capacity);
    cut->head = RY_TAKE(arena, uint32_t, vertices);
    cut->at = RY_TAKE(arena, uint32_t, vertices);
    cut->level = RY_TAKE(arena, uint32_t, vertices);
    cut->queue = RY_TAKE(arena, uint32_t, vertices);
    return cut->edges && cut->head && cut->at && cut->level && cut->queue;
}

bool ry_cut_add(ry_cut *cut, uint32_t a, uint32_t b, int64_t cost, int64_t back)
{
    ry_cut_edge *edges =
        ry_arena_grow(cut->arena, cut->edges, cut->edge_count, &cut->edge_capacity, sizeof *edges);
    if (!edges) {
        return false;
    }
    cut->edges = edges; /* the capacity is even: there is room for two */
    const uint32_t edge = (uint32_t)cut->edge_count;
    cut->edges[edge] = (ry_cut_edge){b, cut->head[a], cost};
    cut->edges[edge + 1] = (ry_cut_edge){a, cut->head[b], back};
    cut->head[a] = edge;
    cut->head[b] = edge + 1;
    cut->edge_count += 2;
    return true;
}

/* Distance from the first label over edges that have capacity left, 0: not reached. */
static bool find_levels(ry_cut *cut)
{
    memset(cut->level, 0, cut->vertices * sizeof *cut->level);
    size_t begin = 0, end = 0;
    cut->level[RY_CUT_FIRST] = 1;
    cut->queue[end++] = RY_CUT_FIRST;
    while (begin < end) {
        const uint32_t v = cut->queue[begin++];
        for (uint32_t e = cut->head[v]; e; e = cut->edges[e].next) {
            const uint32_t to = cut->edges[e].to;
            if (cut->edges[e].left > 0 && !cut->level[to]) {
                cut->level[to] = cut->level[v] + 1;
                cut->queue[end++] = to;
            }
        }
    }
    return cut->level[RY_CUT_SECOND] != 0;
}

/* The next edge of v towards the second label; 0: none is left. */
static uint32_t forward_edge(ry_cut *cut, uint32_t v)
{
    for (; cut->at[v]; cut->at[v] = cut->edges[cut->at[v]].next) {
        const ry_cut_edge *edge = &cut->edges[cut->at[v]];
        if (edge->left > 0 && cut->level[edge->to] == cut->level[v] + 1) {
            break;
        }
    }
    return cut->at[v];
}

/* Sends flow along `length` edges of the path. */
static void push(ry_cut *cut, const uint32_t *path, uint32_t length)
{
    int64_t flow = INT64_MAX;
    for (uint32_t i = 0; i < length; i++) {
        flow = cut->edges[path[i]].left < flow ? cut->edges[path[i]].left : flow;
    }
    for (uint32_t i = 0; i < length; i++) {
        cut->edges[path[i]].left -= flow;
        cut->edges[path[i] ^ 1].left += flow;
    }
}

/* Flow along shortest paths until each has a full edge. The path is a stack of edges, in the
 * queue's memory. */
static void fill_levels(ry_cut *cut)
{
    uint32_t *path = cut->queue, length = 0, v = RY_CUT_FIRST;
    memcpy(cut->at, cut->head, cut->vertices * sizeof *cut->at);
    for (;;) {
        if (v == RY_CUT_SECOND) {
            push(cut, path, length);
            length = 0;
            v = RY_CUT_FIRST;
        }
        const uint32_t edge = forward_edge(cut, v);
        if (edge) {
            path[length++] = edge;
            v = cut->edges[edge].to;
        } else if (length == 0) {
            return;
        } else {
            cut->level[v] = 0; /* a dead end */
            v = cut->edges[path[--length] ^ 1].to;
        }
    }
}

void ry_cut_solve(ry_cut *cut, bool *second)
{
    while (find_levels(cut)) {
        fill_levels(cut);
    }
    for (uint32_t v = 0; v < cut->vertices; v++) {
        second[v] = cut->level[v] == 0;
    }
}
