/* SPDX-License-Identifier: Apache-2.0 */
/* Tries ways to keep values, each by its exact schedule. Whatever a way estimates: what counts is
 * the arena that comes of it. */
#include "plan/recompute_choose.h"

#include "plan/recompute_cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    BISECTIONS = 9,     /* bounds of memory */
    MAX_KEPT_MORE = 256 /* values that are tried at the end */
};

typedef struct trying {
    const ry_recompute_graph *graph;
    size_t limit;
    ry_arena *arena;
    bool *keep; /* current choice */
    ry_recompute_choice *best;
} trying;

/* Evaluates `keep`: *bytes receives the arena's size. Records the choice if its arena fits and its
 * time is the best so far. */
static bool try_kept(const trying *t, size_t *bytes)
{
    ry_recompute_schedule schedule;
    ry_recompute_choice *best = t->best;
    ry_arena scratch;
    ry_arena_init(&scratch, t->arena->allocator);
    const bool done = ry_recompute_evaluate(t->graph, t->keep, &scratch, &schedule);
    ry_arena_free(&scratch);
    if (!done) {
        return false;
    }
    *bytes = schedule.bytes;
    best->least = schedule.bytes < best->least ? schedule.bytes : best->least;
    if (schedule.bytes > t->limit ||
        (best->keep && (schedule.seconds > best->seconds ||
                        (schedule.seconds == best->seconds && schedule.bytes >= best->bytes)))) {
        return true;
    }
    best->keep = best->keep ? best->keep : RY_TAKE(t->arena, bool, t->graph->values);
    if (!best->keep) {
        return false;
    }
    memcpy(best->keep, t->keep, t->graph->values * sizeof *best->keep);
    best->seconds = schedule.seconds;
    best->bytes = schedule.bytes;
    return true;
}

static bool try_root(const trying *t, const ry_recompute_cuts *cuts)
{
    const uint32_t most = t->graph->forward;
    size_t bytes;
    for (uint32_t segments = 2; segments <= most; segments += (segments + 3) / 4) {
        if (!ry_recompute_keep_root(cuts, segments, t->keep) || !try_kept(t, &bytes)) {
            return false;
        }
    }
    return true;
}

/* Finds the highest bound whose choice fits; with `least`, the lowest bound with any choice. */
static bool try_optimal(const trying *t, const ry_recompute_cuts *cuts, bool least)
{
    double low, high;
    ry_recompute_cuts_range(cuts, &low, &high);
    for (int i = 0; i < BISECTIONS; i++) {
        const double bound = (low + high) / 2;
        bool found;
        size_t bytes = 0;
        if (!ry_recompute_keep_optimal(cuts, bound, t->keep, &found) ||
            (found && !try_kept(t, &bytes))) {
            return false;
        }
        const bool raise = !found || (!least && bytes <= t->limit);
        *(raise ? &low : &high) = bound;
    }
    return true;
}

typedef struct cost {
    double each; /* seconds for a byte */
    uint32_t value;
} cost;

static int by_cost(const void *a, const void *b)
{
    const cost *x = a, *y = b;
    if (x->each != y->each) {
        return x->each < y->each ? -1 : 1;
    }
    return x->value < y->value ? -1 : x->value > y->value;
}

/* Values that the backward pass reads, in rising order. */
static cost *list_costs(const trying *t, uint32_t *count)
{
    const ry_recompute_graph *g = t->graph;
    cost *costs = RY_TAKE(t->arena, cost, g->values);
    *count = 0;
    for (uint32_t v = 0; costs && v < g->values; v++) {
        const ry_recompute_value *value = &g->value[v];
        if (!value->stays && ry_recompute_is_read_back(g, v)) {
            costs[(*count)++] = (cost){g->seconds[value->maker] / (double)value->bytes, v};
        }
    }
    if (costs && *count > 1) {
        qsort(costs, *count, sizeof *costs, by_cost);
    }
    return costs;
}

/* As few of the cheapest as make it fit. */
static bool try_cheapest(const trying *t, const cost *costs, uint32_t count)
{
    uint32_t low = 0, high = count + 1;
    while (high - low > 1) {
        const uint32_t dropped = low + (high - low) / 2;
        size_t bytes;
        memset(t->keep, 1, t->graph->values * sizeof *t->keep);
        for (uint32_t i = 0; i < dropped; i++) {
            t->keep[costs[i].value] = false;
        }
        if (!try_kept(t, &bytes)) {
            return false;
        }
        *(bytes > t->limit ? &low : &high) = dropped;
    }
    return true;
}

/* What fits besides, dearest first. */
static bool keep_more(const trying *t, const cost *costs, uint32_t count)
{
    uint32_t tried = 0;
    for (uint32_t i = count; i-- > 0 && tried < MAX_KEPT_MORE;) {
        size_t bytes;
        memcpy(t->keep, t->best->keep, t->graph->values * sizeof *t->keep);
        if (t->keep[costs[i].value]) {
            continue;
        }
        t->keep[costs[i].value] = true;
        tried++;
        if (!try_kept(t, &bytes)) {
            return false;
        }
    }
    return true;
}

bool ry_recompute_choose(const ry_recompute_graph *graph, size_t limit, ry_arena *arena,
                         ry_recompute_choice *choice)
{
    trying t = {.graph = graph, .limit = limit, .arena = arena, .best = choice};
    size_t bytes;
    uint32_t count;
    *choice = (ry_recompute_choice){.least = SIZE_MAX};
    t.keep = RY_TAKE(arena, bool, graph->values);
    if (!t.keep) {
        return false;
    }
    memset(t.keep, 1, graph->values * sizeof *t.keep);
    if (!try_kept(&t, &bytes)) {
        return false;
    }
    if (choice->keep || graph->forward == 0) {
        return true;
    }
    const ry_recompute_cuts *cuts = ry_recompute_cuts_create(graph, arena);
    const cost *costs = list_costs(&t, &count);
    return cuts && costs && try_root(&t, cuts) && try_optimal(&t, cuts, false) &&
           try_optimal(&t, cuts, true) && try_cheapest(&t, costs, count) &&
           (!choice->keep || keep_more(&t, costs, count));
}
