/* SPDX-License-Identifier: Apache-2.0 */
/* Charges of segments and transfers, and the score of a whole assignment. */
#include "place/assign_loads.h"

#include "place/assign_schedule.h"

#include <math.h>
#include <string.h>

static size_t link_count(const ry_assign_problem *problem)
{
    return problem->devices * (problem->devices - 1) / 2;
}

size_t ry_assign_load_count(const ry_assign_problem *problem)
{
    return problem->devices + link_count(problem) + problem->chains;
}

size_t ry_assign_link(const ry_assign_problem *problem, size_t a, size_t b)
{
    const size_t low = a < b ? a : b, high = a < b ? b : a;
    return problem->devices + high * (high - 1) / 2 + low;
}

static size_t chain_load(const ry_assign_problem *problem, size_t chain)
{
    return problem->devices + link_count(problem) + chain;
}

double ry_assign_transfer(const ry_assign_problem *problem, double bytes, size_t a, size_t b)
{
    const size_t pair = a * problem->devices + b;
    return a == b || bytes == 0 ? 0 : problem->latency[pair] + bytes / problem->bandwidth[pair];
}

ry_charge ry_charge_segment(const ry_assign_problem *problem, size_t chain, size_t first,
                            size_t last, size_t device)
{
    const ry_assign_chain *c = &problem->chain[chain];
    const size_t at = ry_assign_segment(c, first, last) * problem->devices + device;
    const double seconds = c->seconds[at], bytes = c->bytes[at];
    if (seconds == INFINITY || bytes > problem->memory[device]) {
        return (ry_charge){.amount = INFINITY, .load = {device}, .count = 1};
    }
    switch (problem->objective) {
    case RY_ASSIGN_LATENCY: return (ry_charge){seconds, {device, chain_load(problem, chain)}, 2};
    case RY_ASSIGN_ENERGY: return (ry_charge){seconds * problem->watts[device], {0}, 1};
    case RY_ASSIGN_MEMORY: return (ry_charge){bytes, {device}, 1};
    default: return (ry_charge){seconds, {device}, 1};
    }
}

ry_charge ry_charge_transfer(const ry_assign_problem *problem, size_t chain, size_t part, size_t a,
                             size_t b)
{
    const bool timed =
        problem->objective == RY_ASSIGN_LATENCY || problem->objective == RY_ASSIGN_THROUGHPUT;
    if (a == b || !timed) {
        return (ry_charge){0};
    }
    const double seconds = ry_assign_transfer(problem, problem->chain[chain].crossing[part], a, b);
    return (ry_charge){seconds,
                       {ry_assign_link(problem, a, b), chain_load(problem, chain)},
                       problem->objective == RY_ASSIGN_LATENCY ? 2 : 1};
}

bool ry_assign_scratch_make(const ry_assign_problem *problem, ry_arena *arena,
                            ry_assign_scratch *scratch)
{
    scratch->loads = RY_TAKE(arena, double, ry_assign_load_count(problem));
    scratch->held = RY_TAKE(arena, double, problem->devices);
    scratch->schedule = ry_assign_schedule_make(problem, 1, arena);
    return scratch->loads && scratch->held && scratch->schedule;
}

/* Adds a chain to loads and bytes held; its seconds. */
static double add_chain(const ry_assign_problem *problem, size_t chain, const unsigned char *device,
                        const ry_assign_scratch *scratch)
{
    const ry_assign_chain *c = &problem->chain[chain];
    double total = 0;
    size_t at = 0;
    for (size_t first = 0, last; first < c->parts; first = last + 1) {
        for (last = first; last + 1 < c->parts && device[last + 1] == device[first];) {
            last++;
        }
        const size_t d = device[first];
        const ry_charge transfer = ry_charge_transfer(problem, chain, first, at, d);
        const ry_charge segment = ry_charge_segment(problem, chain, first, last, d);
        const size_t entry = ry_assign_segment(c, first, last) * problem->devices + d;
        ry_charge_add(&transfer, scratch->loads);
        ry_charge_add(&segment, scratch->loads);
        scratch->held[d] += c->bytes[entry];
        total += c->seconds[entry] + ry_assign_transfer(problem, c->crossing[first], at, d);
        at = d;
    }
    const ry_charge back = ry_charge_transfer(problem, chain, c->parts, at, 0);
    ry_charge_add(&back, scratch->loads);
    return total + ry_assign_transfer(problem, c->crossing[c->parts], at, 0);
}

ry_assign_score ry_assign_score_of(const ry_assign_problem *problem, const unsigned char *device,
                                   const ry_assign_scratch *scratch)
{
    const size_t loads = ry_assign_load_count(problem);
    const unsigned char *parts = device;
    ry_assign_score score = {0};
    memset(scratch->loads, 0, loads * sizeof *scratch->loads);
    memset(scratch->held, 0, problem->devices * sizeof *scratch->held);
    for (size_t c = 0; c < problem->chains; c++) {
        score.total += add_chain(problem, c, parts, scratch);
        parts += problem->chain[c].parts;
    }
    for (size_t d = 0; d < problem->devices; d++) {
        if (scratch->held[d] > problem->memory[d]) {
            return (ry_assign_score){INFINITY, INFINITY};
        }
    }
    for (size_t i = 0; i < loads; i++) {
        score.value = scratch->loads[i] > score.value ? scratch->loads[i] : score.value;
    }
    if (problem->objective == RY_ASSIGN_LATENCY && score.value < INFINITY) {
        score.value = ry_assign_schedule_run(problem, device, scratch->schedule);
    }
    return score;
}
