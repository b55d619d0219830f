/* SPDX-License-Identifier: Apache-2.0 */
/* Lagrangian relaxation of the largest load, its weights by multiplicative updates (Arora, Hazan,
 * Kale, "The multiplicative weights update method", Theory of Computing 8, 2012). */
#include "placement/assign_relax.h"

#include <math.h>
#include <string.h>

enum { ITERATIONS = 300, UNIT_WEIGHTS = 4 };

/* The best step from a part on: the segment's last part and its device. */
typedef struct step {
    unsigned char last, device;
} step;

static double weigh(const ry_charge *charge, const double *weight)
{
    double sum = 0;
    for (int i = 0; i < charge->count; i++) {
        /* without weight even what is not possible must stay so */
        sum += charge->amount == INFINITY ? INFINITY : charge->amount * weight[charge->load[i]];
    }
    return sum;
}

/* The least cost from `part` on, behind a part on `before`; part 0: behind nothing, on device 0. */
static double solve_from(const ry_assign_problem *problem, size_t chain, size_t part, size_t before,
                         const double *weight, const double *rest, step *chosen)
{
    const size_t parts = problem->chain[chain].parts;
    double least = INFINITY;
    for (size_t d = 0; d < problem->devices; d++) {
        if (d == before && part > 0) {
            continue; /* the same device: same segment as the part before */
        }
        const ry_charge transfer = ry_charge_transfer(problem, chain, part, before, d);
        const double moved = weigh(&transfer, weight);
        for (size_t last = part; last < parts && moved < least; last++) {
            const ry_charge segment = ry_charge_segment(problem, chain, part, last, d);
            const double cost =
                moved + weigh(&segment, weight) + rest[(last + 1) * problem->devices + d];
            if (cost < least) {
                least = cost;
                *chosen = (step){(unsigned char)last, (unsigned char)d};
            }
        }
    }
    return least;
}

/* Fills a chain's rows of `rest`; what is least for the whole chain. steps: as rest, or NULL. */
static double solve_chain(const ry_assign_problem *problem, size_t chain, const double *weight,
                          double *rest, step *steps)
{
    const size_t parts = problem->chain[chain].parts, devices = problem->devices;
    for (size_t d = 0; d < devices; d++) {
        const ry_charge back = ry_charge_transfer(problem, chain, parts, d, 0);
        rest[parts * devices + d] = weigh(&back, weight);
    }
    for (size_t part = parts; part-- > 0;) {
        for (size_t before = 0; before < (part ? devices : 1); before++) {
            rest[part * devices + before] = solve_from(problem, chain, part, before, weight, rest,
                                                       &steps[part * devices + before]);
        }
    }
    return rest[0];
}

/* What the least costs of a chain are made of. */
static void trace(const ry_assign_problem *problem, size_t chain, const step *steps,
                  unsigned char *device)
{
    size_t before = 0;
    for (size_t part = 0; part < problem->chain[chain].parts;) {
        const step s = steps[part * problem->devices + before];
        for (; part <= s.last; part++) {
            device[part] = s.device;
        }
        before = s.device;
    }
}

static double solve(const ry_assign_relaxation *r, ry_assign_weights *w, step *steps,
                    unsigned char *device)
{
    const ry_assign_problem *problem = r->problem;
    double sum = 0;
    for (size_t c = problem->chains; c-- > 0;) {
        w->later[c] = sum;
        sum += solve_chain(problem, c, w->weight, w->rest + r->offset[c] * problem->devices, steps);
        if (device && sum < INFINITY) {
            trace(problem, c, steps, device + (r->offset[c] - c));
        }
    }
    w->bound = sum;
    return sum;
}

static bool make_weights(const ry_assign_relaxation *r, ry_arena *arena, ry_assign_weights *w)
{
    const ry_assign_problem *problem = r->problem;
    const size_t rows = r->offset[problem->chains];
    w->weight = RY_TAKE(arena, double, ry_assign_load_count(problem));
    w->rest = ry_arena_take(arena, rows * problem->devices, sizeof *w->rest);
    w->later = RY_TAKE(arena, double, problem->chains);
    return w->weight && w->rest && w->later;
}

/* The next of the kept weights: a copy of these, or of load `unit` alone. */
static bool keep(ry_assign_relaxation *r, ry_arena *arena, const double *weight, size_t unit,
                 step *steps)
{
    ry_assign_weights *w = &r->weights[r->count];
    if (!make_weights(r, arena, w)) {
        return false;
    }
    if (weight) {
        memcpy(w->weight, weight, ry_assign_load_count(r->problem) * sizeof *weight);
    } else {
        w->weight[unit] = 1;
    }
    const double bound = solve(r, w, steps, NULL);
    r->bound = bound > r->bound ? bound : r->bound;
    r->count++;
    return true;
}

static void normalise(double *weight, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += weight[i];
    }
    for (size_t i = 0; i < count; i++) {
        weight[i] /= sum;
    }
}

/* More weight to what is loaded more. */
static void update(double *weight, const double *loads, size_t count, int iteration)
{
    double largest = 0;
    for (size_t i = 0; i < count; i++) {
        largest = loads[i] > largest ? loads[i] : largest;
    }
    const double rate = 1.0 / (1 + 0.05 * iteration);
    for (size_t i = 0; largest > 0 && i < count; i++) {
        weight[i] = fmax(weight[i] * exp(rate * (loads[i] / largest - 1)), 1e-12);
    }
    normalise(weight, count);
}

/* Scratch of the search for weights. */
typedef struct climb {
    ry_assign_weights now;
    double *best, *mean;
    step *steps;
    unsigned char *device;
} climb;

static bool begin(const ry_assign_relaxation *r, ry_arena *arena, climb *c)
{
    const size_t loads = ry_assign_load_count(r->problem), rows = r->offset[r->problem->chains];
    c->best = RY_TAKE(arena, double, loads);
    c->mean = RY_TAKE(arena, double, loads);
    c->steps = ry_arena_take(arena, rows * r->problem->devices, sizeof *c->steps);
    c->device = RY_TAKE(arena, unsigned char, rows);
    if (!make_weights(r, arena, &c->now) || !c->best || !c->mean || !c->steps || !c->device) {
        return false;
    }
    for (size_t i = 0; i < loads; i++) {
        c->now.weight[i] = 1;
    }
    normalise(c->now.weight, loads);
    return true;
}

/* False: a part can be nowhere. */
static bool climb_weights(const ry_assign_relaxation *r, const ry_assign_scratch *scratch, climb *c,
                          unsigned char *device, ry_assign_score *best)
{
    const size_t loads = ry_assign_load_count(r->problem),
                 parts = r->offset[r->problem->chains] - r->problem->chains;
    double highest = -1;
    for (int i = 0; i < ITERATIONS; i++) {
        const double bound = solve(r, &c->now, c->steps, c->device);
        if (bound > highest) {
            highest = bound;
            memcpy(c->best, c->now.weight, loads * sizeof *c->best);
        }
        if (bound == INFINITY) {
            return false;
        }
        const ry_assign_score score = ry_assign_score_of(r->problem, c->device, scratch);
        if (ry_assign_better(score, *best)) {
            *best = score;
            memcpy(device, c->device, parts);
        }
        for (size_t l = 0; l < loads; l++) {
            c->mean[l] += c->now.weight[l];
        }
        update(c->now.weight, scratch->loads, loads, i);
    }
    normalise(c->mean, loads);
    return true;
}

bool ry_assign_relax(const ry_assign_problem *problem, ry_arena *arena,
                     const ry_assign_scratch *scratch, ry_assign_relaxation *relaxation,
                     unsigned char *device, ry_assign_score *best)
{
    ry_assign_relaxation *r = relaxation;
    climb c = {0};
    *r = (ry_assign_relaxation){.problem = problem,
                                .offset = RY_TAKE(arena, size_t, problem->chains + 1)};
    if (!r->offset) {
        return false;
    }
    for (size_t i = 0; i < problem->chains; i++) {
        r->offset[i + 1] = r->offset[i] + problem->chain[i].parts + 1;
    }
    if (!begin(r, arena, &c)) {
        return false;
    }
    if (!climb_weights(r, scratch, &c, device, best)) {
        r->bound = INFINITY;
        return true;
    }
    bool good = keep(r, arena, c.best, 0, c.steps) && keep(r, arena, c.now.weight, 0, c.steps) &&
                keep(r, arena, c.mean, 0, c.steps);
    /* A chain alone, whose best is then known exactly; energy has one load. */
    const size_t units = problem->objective == RY_ASSIGN_ENERGY    ? 1
                         : problem->objective == RY_ASSIGN_LATENCY ? problem->chains
                                                                   : 0;
    const size_t first = problem->objective == RY_ASSIGN_ENERGY
                             ? 0
                             : ry_assign_load_count(problem) - problem->chains;
    for (size_t i = 0; good && i < units && i < UNIT_WEIGHTS; i++) {
        good = keep(r, arena, NULL, first + i, c.steps);
    }
    return good;
}
