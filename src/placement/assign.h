/* SPDX-License-Identifier: Apache-2.0 */
/* Which device does which part of which network: costs in, assignment out.
 *
 * Branch and bound over whole segments. Its bound is Lagrangian: of the loads whose largest is
 * minimised, any weighted mean is a lower bound, and is minimised exactly, chain by chain, by
 * dynamic programming; a few hundred multiplicative updates find good weights (assign_relax.h). For
 * one network's latency, and for energy, the bound is the optimum itself. Deterministic; ends after
 * a number of nodes, with the bound of what was not searched. */
#ifndef RY_PLACEMENT_ASSIGN_H
#define RY_PLACEMENT_ASSIGN_H

#include "placement/assign_problem.h"

typedef struct ry_assignment {
    unsigned char *device; /* every part's, chain after chain; in the arena */
    double value, bound;   /* objective and its lower bound; equal if exact */
    size_t nodes;          /* nodes branched on */
} ry_assignment;

/* Scratch and the result are in `arena`. NOT_FOUND: no assignment keeps to the memory of the
 * devices, or none was found within the nodes (the message says which). */
rynd_status ry_assign(const ry_assign_problem *problem, ry_arena *arena, ry_assignment *assignment,
                      ry_error *error);

/* What an assignment comes to, whatever is optimised. */
typedef struct ry_assign_costs {
    double latency, period, energy, memory;
} ry_assign_costs;

rynd_status ry_assign_evaluate(const ry_assign_problem *problem, const unsigned char *device,
                               ry_arena *arena, ry_assign_costs *costs, ry_error *error);

/* Seconds until `inputs` inputs of every network are done, when all are there at once; each device
 * and link takes what can begin first, of those the earlier input. */
rynd_status ry_assign_makespan(const ry_assign_problem *problem, const unsigned char *device,
                               size_t inputs, ry_arena *arena, double *seconds, ry_error *error);

#endif
