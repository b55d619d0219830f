/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be assigned to what, as numbers.
 *
 * A network is a chain of parts. Parts that follow one another on one device are one segment, whose
 * cost is its own (what is planned together is faster than the sum). Between segments on different
 * devices goes what crosses the cut; it comes from, and returns to, device 0. */
#ifndef RY_PLACEMENT_ASSIGN_PROBLEM_H
#define RY_PLACEMENT_ASSIGN_PROBLEM_H

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
    /* cost of parts first to last: [ry_assign_segment(chain, first, last) * devices +
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
    const double *watts;               /* while a device computes */
    size_t most_nodes;
    size_t most_work; /* branches to look at, at most: the nodes of many devices have more */
} ry_assign_problem;

static inline size_t ry_assign_segment(const ry_assign_chain *chain, size_t first, size_t last)
{
    return first * chain->parts + last;
}

#endif
