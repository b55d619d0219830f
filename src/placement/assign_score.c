/* SPDX-License-Identifier: Apache-2.0 */
/* Adds up the loads of an assignment. */
#include "placement/assign_score.h"

#include "placement/assign_loads.h"
#include "placement/assign_schedule.h"

#include <math.h>
#include <string.h>

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
