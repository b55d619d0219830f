/* SPDX-License-Identifier: Apache-2.0 */
/* From what is kept to an order of steps, its time and its memory. */
#include "plan/recompute_schedule.h"

#include <stdlib.h>
#include <string.h>

typedef struct scheduling {
    const ry_recompute_graph *graph;
    const bool *keep;
    ry_recompute_schedule *to;
    bool *asked;               /* per value: a recomputed step reads it */
    uint32_t *place;           /* per recomputed step: the step before which it runs again */
    uint32_t *at, *recomputed; /* per step: position in the new order; position of the copy */
    /* per value: its index among the packed lifetimes, first made and recomputed */
    uint32_t *first, *again;
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

/* Puts each recomputed step before its first consumer, and its producers no later. */
static void find_positions(const scheduling *w)
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

static int by_position(const void *a, const void *b)
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
    qsort(again, count, sizeof *again, by_position);
    for (uint32_t s = 0; s < g->steps; s++) {
        for (; next < count && again[next] >> 32 == s; next++) {
            const uint32_t step = (uint32_t)again[next];
            w->recomputed[step] = to->count;
            to->order[to->count++] = (ry_scheduled_step){step, true};
        }
        w->at[s] = to->count;
        to->order[to->count++] = (ry_scheduled_step){s, false};
    }
    return true;
}

/* When a step reads for the last time. */
typedef struct lives {
    uint32_t old, recomputed; /* lifetimes of the value first made, and of the recomputed one */
} lives;

static void note_reader(const scheduling *w, uint32_t v, uint32_t step, lives *last)
{
    const ry_recompute_graph *g = w->graph;
    const bool kept = is_kept(g, w->keep, v);
    /* a step that runs in turns needs outside inputs until the last turn */
    const bool outside = g->first[step] != g->first[g->value[v].maker];
    const uint32_t reads = w->at[outside ? g->last[step] : step];
    uint32_t *life = step < g->forward || kept ? &last->old : &last->recomputed;
    *life = reads > *life ? reads : *life;
    if (step < g->forward && w->to->again[step]) {
        life = kept ? &last->old : &last->recomputed;
        *life = w->recomputed[step] > *life ? w->recomputed[step] : *life;
    }
}

static lives lives_of(const scheduling *w, uint32_t v)
{
    const ry_recompute_graph *g = w->graph;
    const uint32_t maker = g->value[v].maker;
    lives last = {w->at[maker],
                  maker < g->forward && w->to->again[maker] ? w->recomputed[maker] : 0};
    for (uint32_t i = g->readers.at[v]; i < g->readers.at[v + 1]; i++) {
        note_reader(w, v, g->readers.item[i], &last);
    }
    return last;
}

static void list_value(const scheduling *w, uint32_t v, bool again, ry_arena_content *to)
{
    const ry_recompute_graph *g = w->graph;
    const uint32_t maker = g->value[v].maker;
    const lives last = lives_of(w, v);
    uint32_t begin = again ? w->recomputed[maker] : w->at[maker];
    if (g->value[v].bytes == 0) {
        return;
    }
    if (!again && last.old > w->at[g->last[maker]]) { /* whole, and read outside of the turns */
        begin = w->at[g->first[maker]];
    }
    (again ? w->again : w->first)[v] = (uint32_t)to->value_count;
    to->values[to->value_count++] = (ry_lifetime){
        .size = g->value[v].bytes, .first = begin, .last = again ? last.recomputed : last.old};
}

/* Pairs of old and new value at a step that overwrites. */
static void list_overwrites(const scheduling *w, uint32_t step, bool again, ry_arena_content *to)
{
    const ry_recompute_graph *g = w->graph;
    for (uint32_t i = g->overwrites_at[step]; i < g->overwrites_at[step + 1]; i++) {
        const ry_overwrite *o = &g->overwrites[i];
        const bool first = is_kept(g, w->keep, o->old) || (step < g->forward && !again);
        const uint32_t next = (again ? w->again : w->first)[o->next],
                       old = (first ? w->first : w->again)[o->old];
        if (next != UINT32_MAX && old != UINT32_MAX) {
            to->overwrites[to->overwrite_count++] = (ry_overwrite){next, old, false};
        }
    }
}

/* Everything in the order in which steps make it, as in plan/arena_offsets.c, so that the arena is
 * the same. */
static bool list_content(const scheduling *w, ry_arena_content *to)
{
    const ry_recompute_graph *g = w->graph;
    const uint32_t steps = w->to->count;
    to->values = RY_TAKE(w->arena, ry_lifetime, 2 * (size_t)g->values);
    to->workspaces = RY_TAKE(w->arena, ry_lifetime, steps);
    to->overwrites =
        RY_TAKE(w->arena, ry_overwrite, g->overwrites ? 2 * (size_t)g->overwrites_at[g->steps] : 0);
    if (!to->values || !to->workspaces || !to->overwrites) {
        return false;
    }
    for (uint32_t i = 0; i < steps; i++) {
        const ry_scheduled_step s = w->to->order[i];
        for (uint32_t k = g->makes.at[s.step]; k < g->makes.at[s.step + 1]; k++) {
            list_value(w, g->makes.item[k], s.again, to);
        }
        if (g->overwrites) {
            list_overwrites(w, s.step, s.again, to);
        }
        if (g->workspace && g->workspace[s.step] > 0) {
            to->workspaces[to->workspace_count++] =
                (ry_lifetime){.size = g->workspace[s.step], .first = i, .last = i};
        }
    }
    return true;
}

bool ry_recompute_evaluate(const ry_recompute_graph *graph, const bool *keep, ry_arena *arena,
                           ry_recompute_schedule *schedule)
{
    scheduling w = {.graph = graph, .keep = keep, .to = schedule, .arena = arena};
    *schedule = (ry_recompute_schedule){.again = RY_TAKE(arena, bool, graph->forward)};
    w.asked = RY_TAKE(arena, bool, graph->values);
    w.place = RY_TAKE(arena, uint32_t, graph->forward);
    w.at = RY_TAKE(arena, uint32_t, graph->steps);
    w.recomputed = RY_TAKE(arena, uint32_t, graph->steps);
    w.first = RY_TAKE(arena, uint32_t, graph->values);
    w.again = RY_TAKE(arena, uint32_t, graph->values);
    if (!schedule->again || !w.asked || !w.place || !w.at || !w.recomputed || !w.first ||
        !w.again) {
        return false;
    }
    memset(w.first, 0xff, graph->values * sizeof *w.first);
    memset(w.again, 0xff, graph->values * sizeof *w.again);
    ry_recompute_find_again(graph, 0, graph->forward, keep, w.asked, schedule->again);
    for (uint32_t s = 0; s < graph->forward; s++) {
        w.place[s] = graph->steps;
        schedule->seconds += schedule->again[s] ? graph->seconds[s] : 0;
    }
    find_positions(&w);
    ry_arena_content content = {.values = NULL};
    return make_order(&w) && list_content(&w, &content) &&
           ry_arena_map(&content, arena, &schedule->bytes);
}
