/* SPDX-License-Identifier: Apache-2.0 */
/* Depth-first branch and bound, the most promising segment first. */
#include "placement/assign_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A segment that may be next: from the first part that has no device yet to `last`. */
typedef struct branch {
    double bound;
    unsigned char last, device;
} branch;

/* How far an assignment is: chains before `chain`, and of that the parts before `part`. */
typedef struct place_at {
    size_t chain, part, before; /* before: the device of the part in front; 0 of the first */
    size_t first;               /* index of the chain's first part among all parts */
} place_at;

typedef struct search {
    const ry_assign_problem *problem;
    const ry_assign_relaxation *relaxation;
    const ry_assign_scratch *scratch;
    ry_arena *arena;
    double *loads, *held, *weighted; /* so far; weighted: by each of the kept weights */
    branch **branches;               /* per depth */
    unsigned char *now, *device;
    ry_assign_score *best;
    double open; /* the least bound of what was left out when nodes ran out */
    size_t nodes, work;
    size_t twin[RY_ASSIGN_DEVICES];   /* the last equal device before it; or itself */
    unsigned uses[RY_ASSIGN_DEVICES]; /* segments, so far */
    bool failed;
} search;

/* What a branch changes, to be taken back. */
typedef struct change {
    ry_charge charges[3];
    int count;
    double held, loads[6], weighted[RY_ASSIGN_WEIGHTS];
} change;

static bool out_of_nodes(const search *s)
{
    return s->nodes >= s->problem->most_nodes || s->work >= s->problem->most_work;
}

/* Devices that differ in their numbers only; the first has the inputs. */
static bool is_twin(const ry_assign_problem *p, size_t a, size_t b)
{
    bool same = p->memory[a] == p->memory[b] && p->watts[a] == p->watts[b];
    for (size_t d = 0; same && d < p->devices; d++) {
        same = d == a || d == b ||
               (p->bandwidth[a * p->devices + d] == p->bandwidth[b * p->devices + d] &&
                p->latency[a * p->devices + d] == p->latency[b * p->devices + d]);
    }
    for (size_t c = 0; same && c < p->chains; c++) {
        const ry_assign_chain *chain = &p->chain[c];
        for (size_t row = 0; same && row < chain->parts * chain->parts; row++) {
            const size_t at = row * p->devices;
            same = chain->seconds[at + a] == chain->seconds[at + b] &&
                   chain->bytes[at + a] == chain->bytes[at + b];
        }
    }
    return same;
}

/* The search tries a device only if its twin before it is in use. */
static void find_twins(search *s)
{
    for (size_t d = 0; d < s->problem->devices; d++) {
        s->twin[d] = d;
        for (size_t e = d; e-- > 1 && s->twin[d] == d;) {
            s->twin[d] = is_twin(s->problem, e, d) ? e : d;
        }
    }
}

static change change_of(const search *s, const place_at *at, const branch *b)
{
    const ry_assign_problem *problem = s->problem;
    const size_t parts = problem->chain[at->chain].parts;
    change c = {.count = 2};
    c.charges[0] = ry_charge_transfer(problem, at->chain, at->part, at->before, b->device);
    c.charges[1] = ry_charge_segment(problem, at->chain, at->part, b->last, b->device);
    if (b->last + 1u == parts) {
        c.charges[c.count++] = ry_charge_transfer(problem, at->chain, parts, b->device, 0);
    }
    return c;
}

static double bytes_of(const search *s, const place_at *at, const branch *b)
{
    const ry_assign_chain *chain = &s->problem->chain[at->chain];
    return chain
        ->bytes[ry_assign_segment(chain, at->part, b->last) * s->problem->devices + b->device];
}

/* No assignment that goes on with the branch is below. */
static double bound_of(const search *s, const place_at *at, const branch *b)
{
    const change c = change_of(s, at, b);
    const ry_assign_chain *chain = &s->problem->chain[at->chain];
    if (c.charges[1].amount == INFINITY ||
        s->held[b->device] + bytes_of(s, at, b) > s->problem->memory[b->device]) {
        return INFINITY;
    }
    double bound = 0;
    for (int i = 0; i < c.count; i++) {
        for (int k = 0; k < c.charges[i].count; k++) {
            bound = fmax(bound, s->loads[c.charges[i].load[k]] + c.charges[i].amount);
        }
    }
    for (size_t w = 0; w < s->relaxation->count; w++) {
        const ry_assign_weights *weights = &s->relaxation->weights[w];
        const size_t row = s->relaxation->offset[at->chain] + b->last + 1;
        double sum = s->weighted[w] + weights->later[at->chain];
        /* behind the last part the row has the way back, which is a charge already */
        sum +=
            b->last + 1u < chain->parts ? weights->rest[row * s->problem->devices + b->device] : 0;
        for (int i = 0; i < c.count; i++) {
            for (int k = 0; k < c.charges[i].count; k++) {
                sum += c.charges[i].amount * weights->weight[c.charges[i].load[k]];
            }
        }
        bound = fmax(bound, sum);
    }
    /* bytes are whole numbers; what rounding added to a sum must not count */
    return s->problem->objective == RY_ASSIGN_MEMORY ? ceil(bound * (1 - 1e-12)) : bound;
}

static void apply(search *s, const place_at *at, const branch *b, change *c)
{
    *c = change_of(s, at, b);
    s->uses[b->device]++;
    c->held = s->held[b->device];
    s->held[b->device] += bytes_of(s, at, b);
    memcpy(c->weighted, s->weighted, sizeof c->weighted);
    for (int i = 0; i < c->count; i++) {
        const ry_charge *charge = &c->charges[i];
        for (int k = 0; k < charge->count; k++) {
            c->loads[2 * i + k] = s->loads[charge->load[k]];
            s->loads[charge->load[k]] += charge->amount;
            for (size_t w = 0; w < s->relaxation->count; w++) {
                s->weighted[w] +=
                    charge->amount * s->relaxation->weights[w].weight[charge->load[k]];
            }
        }
    }
    memset(s->now + at->first + at->part, b->device, b->last + 1u - at->part);
}

/* Restores the saved values, so that no rounding error stays. */
static void take_back(search *s, const branch *b, const change *c)
{
    for (int i = c->count; i-- > 0;) {
        for (int k = c->charges[i].count; k-- > 0;) {
            s->loads[c->charges[i].load[k]] = c->loads[2 * i + k];
        }
    }
    memcpy(s->weighted, c->weighted, sizeof c->weighted);
    s->held[b->device] = c->held;
    s->uses[b->device]--;
}

static int by_bound(const void *a, const void *b)
{
    const branch *x = a, *y = b;
    if (x->bound != y->bound) {
        return x->bound < y->bound ? -1 : 1;
    }
    /* longer segments first, then earlier devices: no order of the library's sort shows */
    return x->last != y->last ? y->last - x->last : x->device - y->device;
}

static branch *branches_at(search *s, size_t depth)
{
    if (!s->branches[depth]) {
        s->branches[depth] = ry_arena_take(s->arena, RY_ASSIGN_PARTS * s->problem->devices,
                                           sizeof *s->branches[depth]);
        s->failed = s->failed || !s->branches[depth];
    }
    return s->branches[depth];
}

static size_t list_branches(search *s, const place_at *at, branch *list)
{
    size_t count = 0;
    for (size_t d = 0; d < s->problem->devices; d++) {
        if ((d == at->before && at->part > 0) || (s->twin[d] != d && s->uses[s->twin[d]] == 0)) {
            continue;
        }
        for (size_t last = at->part; last < s->problem->chain[at->chain].parts; last++) {
            branch *b = &list[count++];
            *b = (branch){.last = (unsigned char)last, .device = (unsigned char)d};
            b->bound = bound_of(s, at, b);
        }
    }
    s->work += count;
    qsort(list, count, sizeof *list, by_bound);
    return count;
}

static place_at behind(const search *s, const place_at *at, const branch *b)
{
    if (b->last + 1u < s->problem->chain[at->chain].parts) {
        return (place_at){at->chain, b->last + 1u, b->device, at->first};
    }
    return (place_at){at->chain + 1, 0, 0, at->first + s->problem->chain[at->chain].parts};
}

static void finish(search *s)
{
    const ry_assign_score score = ry_assign_score_of(s->problem, s->now, s->scratch);
    if (ry_assign_better(score, *s->best)) {
        size_t parts = 0;
        for (size_t c = 0; c < s->problem->chains; c++) {
            parts += s->problem->chain[c].parts;
        }
        *s->best = score;
        memcpy(s->device, s->now, parts);
    }
}

static void descend(search *s, const place_at *at, size_t depth)
{
    branch *list = branches_at(s, depth);
    if (s->failed) {
        return;
    }
    s->nodes++;
    const size_t count = list_branches(s, at, list);
    for (size_t i = 0; i < count; i++) {
        const branch b = list[i];
        if (b.bound >= s->best->value || b.bound == INFINITY) {
            break; /* so are those behind it */
        }
        const place_at next = behind(s, at, &b);
        if (next.chain < s->problem->chains && out_of_nodes(s)) {
            s->open = fmin(s->open, b.bound);
            break;
        }
        change c;
        apply(s, at, &b, &c);
        if (next.chain == s->problem->chains) {
            finish(s);
        } else {
            descend(s, &next, depth + 1);
        }
        take_back(s, &b, &c);
    }
}

bool ry_assign_search(const ry_assign_relaxation *relaxation, ry_arena *arena,
                      const ry_assign_scratch *scratch, unsigned char *device,
                      ry_assign_score *best, double *bound, size_t *nodes)
{
    const ry_assign_problem *problem = relaxation->problem;
    const size_t parts = relaxation->offset[problem->chains] - problem->chains;
    search s = {.problem = problem,
                .relaxation = relaxation,
                .scratch = scratch,
                .arena = arena,
                .loads = RY_TAKE(arena, double, ry_assign_load_count(problem)),
                .held = RY_TAKE(arena, double, problem->devices),
                .weighted = RY_TAKE(arena, double, RY_ASSIGN_WEIGHTS),
                .branches = RY_TAKE(arena, branch *, parts),
                .now = RY_TAKE(arena, unsigned char, parts),
                .device = device,
                .best = best,
                .open = INFINITY};
    if (!s.loads || !s.held || !s.weighted || !s.branches || !s.now) {
        return false;
    }
    find_twins(&s);
    descend(&s, &(place_at){0}, 0);
    *bound = fmax(fmin(s.open, best->value), fmin(relaxation->bound, best->value));
    *nodes = s.nodes;
    return !s.failed;
}
