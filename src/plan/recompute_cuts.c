/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts of the forward pass into segments. */
#include "plan/recompute_cuts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_CUTS = 192, MAX_POINTS = 24 };

/* What a segment takes. */
typedef struct segment {
    double seconds; /* seconds of recomputation */
    double passes;  /* bytes kept: made in the segment, read by later ones */
    double own;     /* bytes alive while the backward pass runs the segment */
} segment;

struct ry_recompute_cuts {
    const ry_recompute_graph *graph;
    ry_arena *arena;
    uint32_t count;  /* number of cut points, the beginning and the end included */
    uint32_t *place; /* each before this step */
    uint32_t *last;  /* per value: its last reader in the forward pass */
    /* per value: most bytes that the backward pass holds at a reader, workspace included */
    double *gradients;
    segment *segments; /* from cut i to cut k: segments[i * count + k] */
};

static segment *segment_of(const ry_recompute_cuts *c, uint32_t from, uint32_t to)
{
    return &c->segments[(size_t)from * c->count + to];
}

static void find_last(const ry_recompute_cuts *c)
{
    const ry_recompute_graph *g = c->graph;
    for (uint32_t v = 0; v < g->values; v++) {
        c->last[v] = g->value[v].maker;
        for (uint32_t i = g->readers.at[v]; i < g->readers.at[v + 1]; i++) {
            const uint32_t s = g->readers.item[i];
            c->last[v] = s < g->forward ? s : c->last[v];
        }
    }
}

/* The last reader of a value; its maker if it has no reader. */
static uint32_t last_reader(const ry_recompute_graph *g, uint32_t v)
{
    const uint32_t end = g->readers.at[v + 1];
    return end > g->readers.at[v] ? g->readers.item[end - 1] : g->value[v].maker;
}

/* Does a value of the backward pass take the place of another, which ends where it is made? */
static bool overwrites_gradient(const ry_recompute_graph *g, uint32_t v)
{
    const uint32_t maker = g->value[v].maker;
    if (!g->overwrites) {
        return false;
    }
    for (uint32_t i = g->overwrites_at[maker]; i < g->overwrites_at[maker + 1]; i++) {
        const ry_overwrite *o = &g->overwrites[i];
        if (o->next == v && g->value[o->old].maker >= g->forward &&
            g->value[o->old].bytes == g->value[v].bytes && last_reader(g, o->old) == maker) {
            return true;
        }
    }
    return false;
}

/* What the backward pass makes is alive at each of its steps, whatever is kept. */
static bool find_gradients(const ry_recompute_cuts *c)
{
    const ry_recompute_graph *g = c->graph;
    double *alive = RY_TAKE(c->arena, double, (size_t)g->steps + 1);
    if (!alive) {
        return false;
    }
    for (uint32_t v = 0; v < g->values; v++) {
        if (g->value[v].maker >= g->forward) {
            const uint32_t last = last_reader(g, v);
            alive[g->value[v].maker + (overwrites_gradient(g, v) && last > g->value[v].maker)] +=
                (double)g->value[v].bytes;
            alive[last + 1] -= (double)g->value[v].bytes;
        }
    }
    for (uint32_t s = 1; s < g->steps; s++) {
        alive[s] += alive[s - 1];
    }
    for (uint32_t v = 0; v < g->values; v++) {
        for (uint32_t i = g->readers.at[v]; i < g->readers.at[v + 1]; i++) {
            const uint32_t s = g->readers.item[i];
            const double own = alive[s] + (g->workspace ? (double)g->workspace[s] : 0);
            c->gradients[v] = s >= g->forward ? fmax(c->gradients[v], own) : c->gradients[v];
        }
    }
    return true;
}

/* Where few bytes pass; at most MAX_CUTS, the beginning and the end among them. */
static bool find_positions(ry_recompute_cuts *c)
{
    const ry_recompute_graph *g = c->graph;
    double *passes = RY_TAKE(c->arena, double, (size_t)g->forward + 1);
    if (!passes) {
        return false;
    }
    for (uint32_t v = 0; v < g->values; v++) {
        if (g->value[v].maker < g->forward) { /* it passes each cut behind its maker up to `last` */
            passes[g->value[v].maker + 1] += (double)g->value[v].bytes;
            passes[c->last[v] + 1] -= (double)g->value[v].bytes;
        }
    }
    for (uint32_t s = 1; s <= g->forward; s++) {
        passes[s] += passes[s - 1];
    }
    const uint32_t between = MAX_CUTS - 2, stride = (g->forward + between - 1) / between;
    c->place[c->count++] = 0;
    for (uint32_t s = 1; s < g->forward; s += stride) {
        uint32_t best = s;
        for (uint32_t k = s; k < s + stride && k < g->forward; k++) {
            best = passes[k] < passes[best] ? k : best;
        }
        c->place[c->count++] = best;
    }
    c->place[c->count++] = g->forward;
    return true;
}

typedef struct measuring {
    const ry_recompute_cuts *c;
    bool *keep, *asked, *again;
} measuring;

/* The segment keeps what later steps of the forward pass read; the last one keeps all. */
static void measure(const measuring *m, uint32_t from, uint32_t to)
{
    const ry_recompute_cuts *c = m->c;
    const ry_recompute_graph *g = c->graph;
    const uint32_t begin = c->place[from], end = c->place[to];
    const bool is_last = to + 1 == c->count;
    segment *s = segment_of(c, from, to);
    double gradients = 0;
    *s = (segment){0};
    for (uint32_t i = g->makes.at[begin]; i < g->makes.at[end]; i++) {
        const uint32_t v = g->makes.item[i];
        m->keep[v] = is_last || c->last[v] >= end;
        m->asked[v] = false;
    }
    ry_recompute_find_again(g, begin, end, m->keep, m->asked, m->again);
    for (uint32_t i = g->makes.at[begin]; i < g->makes.at[end]; i++) {
        const uint32_t v = g->makes.item[i];
        const bool read = ry_recompute_is_read_back(g, v) || m->asked[v];
        const double bytes = (double)g->value[v].bytes;
        s->passes += g->value[v].stays || (m->keep[v] && !is_last) ? bytes : 0;
        s->own += read || m->keep[v] ? bytes : 0;
        gradients = fmax(gradients, c->gradients[v]);
    }
    for (uint32_t k = begin; k < end; k++) {
        s->seconds += m->again[k - begin] ? g->seconds[k] : 0;
    }
    s->own += gradients;
}

static bool measure_all(const ry_recompute_cuts *c)
{
    const ry_recompute_graph *g = c->graph;
    const measuring m = {c, RY_TAKE(c->arena, bool, g->values), RY_TAKE(c->arena, bool, g->values),
                         RY_TAKE(c->arena, bool, g->forward)};
    if (!m.keep || !m.asked || !m.again) {
        return false;
    }
    for (uint32_t from = 0; from < c->count; from++) {
        for (uint32_t to = from + 1; to < c->count; to++) {
            measure(&m, from, to);
        }
    }
    return true;
}

ry_recompute_cuts *ry_recompute_cuts_create(const ry_recompute_graph *graph, ry_arena *arena)
{
    ry_recompute_cuts *c = RY_TAKE(arena, ry_recompute_cuts, 1);
    if (!c) {
        return NULL;
    }
    c->graph = graph;
    c->arena = arena;
    c->place = RY_TAKE(arena, uint32_t, MAX_CUTS + 1);
    c->last = RY_TAKE(arena, uint32_t, graph->values);
    c->gradients = RY_TAKE(arena, double, graph->values);
    if (!c->place || !c->last || !c->gradients || !find_gradients(c)) {
        return NULL;
    }
    find_last(c);
    if (!find_positions(c)) {
        return NULL;
    }
    c->segments = RY_TAKE(arena, segment, (size_t)c->count * c->count);
    return c->segments && measure_all(c) ? c : NULL;
}

/* What passes from the segment into later ones; all of the last. */
static void keep_segment(const ry_recompute_cuts *c, uint32_t from, uint32_t to, bool *keep)
{
    const ry_recompute_graph *g = c->graph;
    const uint32_t end = c->place[to];
    for (uint32_t i = g->makes.at[c->place[from]]; i < g->makes.at[end]; i++) {
        const uint32_t v = g->makes.item[i];
        keep[v] = to + 1 == c->count || c->last[v] >= end;
    }
}

bool ry_recompute_keep_root(const ry_recompute_cuts *c, uint32_t segments, bool *keep)
{
    const double all = segment_of(c, 0, c->count - 1)->own;
    uint32_t from = 0;
    memset(keep, 0, c->graph->values * sizeof *keep);
    for (uint32_t to = 1; to < c->count; to++) {
        if (to + 1 == c->count || segment_of(c, from, to)->own >= all / segments) {
            keep_segment(c, from, to, keep);
            from = to;
        }
    }
    return true;
}

/* A way to some cut. */
typedef struct point {
    double seconds, kept; /* segments up to the cut, and the bytes that they keep */
    uint32_t from, way;   /* the cut before, and the point there */
} point;

typedef struct front {
    point *points; /* falling by bytes, rising by seconds: none is worse than another in both */
    uint32_t count;
} front;

typedef struct searching {
    const ry_recompute_cuts *c;
    double bytes;
    front *fronts;
    point *found; /* options of the current cut */
    size_t found_count;
} searching;

static int by_seconds(const void *a, const void *b)
{
    const point *x = a, *y = b;
    if (x->seconds != y->seconds) {
        return x->seconds < y->seconds ? -1 : 1;
    }
    return x->kept < y->kept ? -1 : x->kept > y->kept;
}

/* Keeps the Pareto front (seconds, bytes), thinned evenly if it is too large. */
static bool thin(searching *s, front *to)
{
    size_t count = 0;
    if (s->found_count > 1) {
        qsort(s->found, s->found_count, sizeof *s->found, by_seconds);
    }
    for (size_t i = 0; i < s->found_count; i++) {
        if (count == 0 || s->found[i].kept < s->found[count - 1].kept) {
            s->found[count++] = s->found[i];
        }
    }
    to->count = (uint32_t)(count < MAX_POINTS ? count : MAX_POINTS);
    to->points = RY_TAKE(s->c->arena, point, to->count);
    for (uint32_t i = 0; to->points && i < to->count; i++) {
        const size_t last = to->count > 1 ? to->count - 1 : 1;
        to->points[i] = s->found[i * (count - 1) / last];
    }
    return to->points || to->count == 0;
}

static void extend(searching *s, uint32_t from, uint32_t to)
{
    const segment *add = segment_of(s->c, from, to);
    for (uint32_t i = 0; i < s->fronts[from].count; i++) {
        const point *p = &s->fronts[from].points[i];
        if (p->kept + add->own <= s->bytes) {
            s->found[s->found_count++] =
                (point){p->seconds + add->seconds, p->kept + add->passes, from, i};
        }
    }
}

bool ry_recompute_keep_optimal(const ry_recompute_cuts *c, double bytes, bool *keep, bool *found)
{
    point start = {0};
    searching s = {.c = c, .bytes = bytes};
    s.fronts = RY_TAKE(c->arena, front, c->count);
    s.found = RY_TAKE(c->arena, point, (size_t)c->count * MAX_POINTS);
    if (!s.fronts || !s.found) {
        return false;
    }
    s.fronts[0] = (front){&start, 1};
    for (uint32_t to = 1; to < c->count; to++) {
        s.found_count = 0;
        for (uint32_t from = 0; from < to; from++) {
            extend(&s, from, to);
        }
        if (!thin(&s, &s.fronts[to])) {
            return false;
        }
    }
    *found = s.fronts[c->count - 1].count > 0;
    if (!*found) {
        return true;
    }
    memset(keep, 0, c->graph->values * sizeof *keep);
    uint32_t way = 0;
    for (uint32_t to = c->count - 1; to > 0;) {
        const point *p = &s.fronts[to].points[way];
        keep_segment(c, p->from, to, keep);
        to = p->from;
        way = p->way;
    }
    return true;
}

void ry_recompute_cuts_range(const ry_recompute_cuts *c, double *least, double *most)
{
    *most = segment_of(c, 0, c->count - 1)->own;
    *least = *most;
    for (uint32_t from = 0; from + 1 < c->count; from++) {
        *least = fmin(*least, segment_of(c, from, from + 1)->own);
    }
}
