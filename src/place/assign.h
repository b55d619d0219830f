/* SPDX-License-Identifier: Apache-2.0 */
/* Which device does which part of which network: costs in, assignment out.
 *
 * A network is a chain of parts. Parts that follow one another on one device are one segment, whose
 * cost is its own (what is planned together is faster than the sum). Between segments on different
 * devices goes what crosses the cut; it comes from, and returns to, device 0.
 *
 * Branch and bound over whole segments. Its bound is Lagrangian: of the loads whose largest is
 * minimised, any weighted mean is a lower bound, and is minimised exactly, chain by chain, by
 * dynamic programming; a few hundred multiplicative updates find good weights (assign_relax.h). For
 * one network's latency, and for energy, the bound is the optimum itself. Deterministic; ends after
 * a number of nodes, with the bound of what was not searched. */
#ifndef RY_PLACE_ASSIGN_H
#define RY_PLACE_ASSIGN_H

#include "base/memory.h"
#include "base/status.h"

enum { RY_ASSIGN_DEVICES = 32, RY_ASSIGN_PARTS = 32 };

typedef enum ry_assign_objective {
    /* seconds until all networks are done once, each device and each link doing its own in turn */
    RY_ASSIGN_LATENCY,
    /* seconds from an input to the next, of every network, when many are under way */
    RY_ASSIGN_THROUGHPUT,
    RY_ASSIGN_ENERGY, /* joules of one input of every network */
    RY_ASSIGN_MEMORY, /* bytes of the device that holds most */
    RY_ASSIGN_OBJECTIVES
} ry_assign_objective;

typedef struct ry_assign_chain {
    size_t parts; /* 1 to RY_ASSIGN_PARTS */
    /* of the segment of parts first to last: [ry_assign_segment(chain, first, last) * devices +
     * device]; seconds INFINITY: it cannot be there */
    const double *seconds, *bytes;
    const double *crossing; /* parts + 1: bytes in front of each part, and behind the last */
} ry_assign_chain;

typedef struct ry_assign_problem {
    ry_assign_objective objective;
    size_t devices, chains;
    const ry_assign_chain *chain;
    const double *bandwidth, *latency; /* [a * devices + b], the same both ways */
    const double *memory;              /* bytes that a device may hold at most; INFINITY */
    const double *watts;               /* while a device computes; read for energy only */
    size_t most_nodes;
} ry_assign_problem;

typedef struct ry_assignment {
    unsigned char *device; /* of every part, chain after chain; in the arena */
    double value, bound;   /* of the objective; equal when it is exact */
    size_t nodes;          /* that were branched on */
} ry_assignment;

static inline size_t ry_assign_segment(const ry_assign_chain *chain, size_t first, size_t last)
{
    return first * chain->parts + last;
}

/* Scratch and the result are in `arena`. NOT_FOUND: no assignment keeps to the memory of the
 * devices, or none was found within the nodes (the message says which). */
rynd_status ry_assign(const ry_assign_problem *problem, ry_arena *arena, ry_assignment *assignment,
                      ry_error *error);

/* What an assignment comes to, whatever is optimised. */
typedef struct ry_assign_costs {
    double latency, period, energy, memory; /* energy: watts of all devices must be given */
} ry_assign_costs;

rynd_status ry_assign_evaluate(const ry_assign_problem *problem, const unsigned char *device,
                               ry_arena *arena, ry_assign_costs *costs, ry_error *error);

/* Seconds until `inputs` inputs of every network are done, when all are there at once; each device
 * and link takes what can begin first, of those the earlier input. */
rynd_status ry_assign_makespan(const ry_assign_problem *problem, const unsigned char *device,
                               size_t inputs, ry_arena *arena, double *seconds, ry_error *error);

#endif
