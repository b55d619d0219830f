/* SPDX-License-Identifier: Apache-2.0 */
/* Relaxation, local search, branch and bound, local search. */
#include "placement/assign.h"

#include "placement/assign_schedule.h"
#include "placement/assign_search.h"

#include <math.h>
#include <string.h>

static size_t part_count(const ry_assign_problem *problem)
{
    size_t parts = 0;
    for (size_t c = 0; c < problem->chains; c++) {
        parts += problem->chain[c].parts;
    }
    return parts;
}

/* Everything on one device, each in turn. */
static void try_devices(const ry_assign_problem *problem, const ry_assign_scratch *scratch,
                        unsigned char *device, unsigned char *trial, ry_assign_score *best)
{
    const size_t parts = part_count(problem);
    for (size_t d = 0; d < problem->devices; d++) {
        memset(trial, (int)d, parts);
        const ry_assign_score score = ry_assign_score_of(problem, trial, scratch);
        if (ry_assign_better(score, *best)) {
            *best = score;
            memcpy(device, trial, parts);
        }
    }
}

/* bound: of what was not searched; INFINITY: there is nothing. */
static rynd_status fail_none(double bound, size_t nodes, ry_error *error)
{
    if (bound < INFINITY) {
        return ry_fail(error, RYND_ERROR_NOT_FOUND,
                       "no placement that keeps to the devices' memory was found within %zu nodes "
                       "of the search: allow more nodes, or fewer parts",
                       nodes);
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND,
                   "no placement keeps to the devices' memory: give them more, or cut the networks "
                   "into more parts");
}

rynd_status ry_assign(const ry_assign_problem *problem, ry_arena *arena, ry_assignment *assignment,
                      ry_error *error)
{
    const size_t parts = part_count(problem);
    ry_assign_scratch scratch;
    ry_assign_relaxation relaxation;
    ry_assign_score best = {INFINITY, INFINITY};
    unsigned char *trial = RY_TAKE(arena, unsigned char, parts);
    *assignment = (ry_assignment){.device = RY_TAKE(arena, unsigned char, parts)};
    if (!assignment->device || !trial || !ry_assign_scratch_make(problem, arena, &scratch)) {
        return ry_fail_memory(error);
    }
    try_devices(problem, &scratch, assignment->device, trial, &best);
    if (!ry_assign_relax(problem, arena, &scratch, &relaxation, assignment->device, &best)) {
        return ry_fail_memory(error);
    }
    if (relaxation.bound == INFINITY) {
        return fail_none(INFINITY, 0, error);
    }
    if (best.value < INFINITY) {
        ry_assign_improve(problem, &scratch, assignment->device, &best);
    }
    if (!ry_assign_search(&relaxation, arena, &scratch, assignment->device, &best,
                          &assignment->bound, &assignment->nodes)) {
        return ry_fail_memory(error);
    }
    if (best.value == INFINITY) {
        return fail_none(assignment->bound, assignment->nodes, error);
    }
    /* Prefers less work among equal values: the search stops at the first. */
    ry_assign_improve(problem, &scratch, assignment->device, &best);
    assignment->value = best.value;
    assignment->bound = fmin(assignment->bound, best.value);
    return RYND_OK;
}

rynd_status ry_assign_evaluate(const ry_assign_problem *problem, const unsigned char *device,
                               ry_arena *arena, ry_assign_costs *costs, ry_error *error)
{
    ry_assign_scratch scratch;
    ry_assign_problem each = *problem;
    double *const value[RY_ASSIGN_OBJECTIVES] = {&costs->latency, &costs->period, &costs->energy,
                                                 &costs->memory};
    if (!ry_assign_scratch_make(problem, arena, &scratch)) {
        return ry_fail_memory(error);
    }
    for (int o = 0; o < RY_ASSIGN_OBJECTIVES; o++) {
        each.objective = (ry_assign_objective)o;
        *value[o] = ry_assign_score_of(&each, device, &scratch).value;
    }
    return RYND_OK;
}

rynd_status ry_assign_makespan(const ry_assign_problem *problem, const unsigned char *device,
                               size_t inputs, ry_arena *arena, double *seconds, ry_error *error)
{
    ry_assign_schedule *schedule = ry_assign_schedule_make(problem, inputs, arena);
    if (!schedule) {
        return ry_fail_memory(error);
    }
    *seconds = ry_assign_schedule_run(problem, device, schedule);
    return RYND_OK;
}
