/* SPDX-License-Identifier: Apache-2.0 */
/* From what is kept to an order of steps, its time and its memory. */
#include "plan/recompute_schedule.h"

#include "plan/memory_map.h"

#include <stdlib.h>

typedef struct scheduling {
    const ry_recompute_graph *graph;
    const bool *keep;
    ry_recompute_schedule *to;
    bool *asked;         /* of each value: a step that runs again reads it */
    uint32_t *place;     /* of each step that runs again: it does so before this one */
    uint32_t *at, *anew; /* of each step: where it is in the new order; and when it runs again */
    ry_arena *arena;
} scheduling;

bool ry_recompute_is_read_back(const ry_recompute_graph *graph, uint32_t value)
{
    const uint32_t begin = graph->readers.at[value], end = graph->readers.at[value + 1];
    return end > begin && graph->readers.item[end - 1] >= graph->forward;
}

static bool is_kept(const ry_recompute_graph *g, const bool *keep, uint32_t value)
{
    const ry_recompute_value *v = &g->value[value];
    return keep[value] || v->stays || v->maker >= g->forward;
}

/* Is some dropped output read by the backward pass, or by a step that runs again? */
static bool is_needed(const ry_recompute_graph *g, const bool *keep, const bool *asked,
                      uint32_t step)
{
    for (uint32_t i = g->makes.at[step]; i < g->makes.at[step + 1]; i++) {
        const uint32_t v = g->makes.item[i];
        if (!is_kept(g, keep, v) && (asked[v] || ry_recompute_is_read_back(g, v))) {
            return true;
        }
    }
    return false;
}

void ry_recompute_find_again(const ry_recompute_graph *g, uint32_t begin, uint32_t end,
                             const bool *keep, bool *asked, bool *again)
{
    for (uint32_t s = end; s-- > begin;) {
        again[s - begin] = is_needed(g, keep, asked, s);
        for (uint32_t i = g->reads.at[s]; again[s - begin] && i < g->reads.at[s + 1]; i++) {
            asked[g->reads.item[i]] = true;
        }
    }
}

/* The first step of the backward pass that reads it; g->steps: none does. */
static uint32_t first_back(const ry_recompute_graph *g, uint32_t value)
{
    for (uint32_t i = g->readers.at[value]; i < g->readers.at[value + 1]; i++) {
        if (g->readers.item[i] >= g->forward) {
            return g->first[g->readers.item[i]];
        }
    }
    return g->steps;
}

static void move_up(uint32_t *place, uint32_t to)
{
    *place = to < *place ? to : *place;
}

/* Each before the first that reads what it makes; those that make what it reads are no later. */
static void find_places(const scheduling *w)
{
    const ry_recompute_graph *g = w->graph;
    for (uint32_t s = g->forward; s-- > 0;) {
        if (!w->to->again[s]) {
            continue;
        }
        for (uint32_t i = g->makes.at[s]; i < g->makes.at[s + 1]; i++) {
            if (!is_kept(g, w->keep, g->makes.item[i])) {
                move_up(&w->place[s], first_back(g, g->makes.item[i]));
            }
        }
        for (uint32_t i = g->reads.at[s]; i < g->reads.at[s + 1]; i++) {
            const uint32_t v = g->reads.item[i], maker = g->value[v].maker;
            if (maker < g->forward && w->to->again[maker] && !is_kept(g, w->keep, v)) {
                move_up(&w->place[maker], w->place[s]);
            }
        }
    }
}

static int by_place(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* Steps that run again in the order of their places, then in their own. */
static bool make_order(const scheduling *w)
{
    const ry_recompute_graph *g = w->graph;
    ry_recompute_schedule *to = w->to;
    uint64_t *again = RY_TAKE(w->arena, uint64_t, g->forward);
    to->order = RY_TAKE(w->arena, ry_scheduled_step, (size_t)g->steps + g->forward);
    if (!again || !to->order) {
        return false;
    }
    size_t count = 0, next = 0;
    for (uint32_t s = 0; s < g->forward; s++) {
        if (to->again[s]) {
            again[count++] = (uint64_t)w->place[s] << 32 | s;
        }
    }
    qsort(again, count, sizeof *again, by_place);
    for (uint32_t s = 0; s < g->steps; s++) {
        for (; next < count && again[next] >> 32 == s; next++) {
            const uint32_t step = (uint32_t)again[next];
            w->anew[step] = to->count;
            to->order[to->count++] = (ry_scheduled_step){step, true};
        }
        w->at[s] = to->count;
        to->order[to->count++] = (ry_scheduled_step){s, false};
    }
    return true;
}

/* When a step reads for the last time. */
typedef struct lives {
    uint32_t old, anew; /* of the value as it was made first; of that which was recomputed */
} lives;

static void note_reader(const scheduling *w, uint32_t v, uint32_t step, lives *last)
{
    const ry_recompute_graph *g = w->graph;
    const bool kept = is_kept(g, w->keep, v);
    /* one that runs in turns needs what was made outside of them until all turns are over */
    const bool outside = g->first[step] != g->first[g->value[v].maker];
    const uint32_t reads = w->at[outside ? g->last[step] : step];
    uint32_t *life = step < g->forward || kept ? &last->old : &last->anew;
    *life = reads > *life ? reads : *life;
    if (step < g->forward && w->to->again[step]) {
        life = kept ? &last->old : &last->anew;
        *life = w->anew[step] > *life ? w->anew[step] : *life;
    }
}

/* A value once, or twice where its step runs again. */
static size_t list_lives(const scheduling *w, ry_lifetime *items)
{
    const ry_recompute_graph *g = w->graph;
    size_t count = 0;
    for (uint32_t v = 0; v < g->values; v++) {
        const ry_recompute_value *value = &g->value[v];
        const uint32_t maker = value->maker;
        const bool again = maker < g->forward && w->to->again[maker];
        lives last = {w->at[maker], again ? w->anew[maker] : 0};
        if (value->bytes == 0) {
            continue;
        }
        for (uint32_t i = g->readers.at[v]; i < g->readers.at[v + 1]; i++) {
            note_reader(w, v, g->readers.item[i], &last);
        }
        uint32_t begin = w->at[maker];
        if (last.old > w->at[g->last[maker]]) { /* it is whole, and read outside of the turns */
            begin = w->at[g->first[maker]];
        }
        items[count++] = (ry_lifetime){.size = value->bytes, .first = begin, .last = last.old};
        if (again) {
            items[count++] =
                (ry_lifetime){.size = value->bytes, .first = w->anew[maker], .last = last.anew};
        }
    }
    return count;
}

bool ry_recompute_evaluate(const ry_recompute_graph *graph, const bool *keep, ry_arena *arena,
                           ry_recompute_schedule *schedule)
{
    scheduling w = {.graph = graph, .keep = keep, .to = schedule, .arena = arena};
    *schedule = (ry_recompute_schedule){.again = RY_TAKE(arena, bool, graph->forward)};
    w.asked = RY_TAKE(arena, bool, graph->values);
    w.place = RY_TAKE(arena, uint32_t, graph->forward);
    w.at = RY_TAKE(arena, uint32_t, graph->steps);
    w.anew = RY_TAKE(arena, uint32_t, graph->steps);
    ry_lifetime *items = RY_TAKE(arena, ry_lifetime, 2 * (size_t)graph->values);
    if (!schedule->again || !w.asked || !w.place || !w.at || !w.anew || !items) {
        return false;
    }
    ry_recompute_find_again(graph, 0, graph->forward, keep, w.asked, schedule->again);
    for (uint32_t s = 0; s < graph->forward; s++) {
        w.place[s] = graph->steps;
        schedule->seconds += schedule->again[s] ? graph->seconds[s] : 0;
    }
    find_places(&w);
    return make_order(&w) && ry_memory_map(items, list_lives(&w, items), arena, &schedule->bytes);
}
