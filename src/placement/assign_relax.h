/* SPDX-License-Identifier: Apache-2.0 */
/* Lower bounds: weighted means of the loads, minimised chain by chain. */
#ifndef RY_PLACEMENT_ASSIGN_RELAX_H
#define RY_PLACEMENT_ASSIGN_RELAX_H

#include "placement/assign_loads.h"
#include "placement/assign_score.h"

/* Weights of the loads, with sum 1, and the least weighted cost of what is left of a chain, by the
 * part that is next and the device of the one before. Of chains that come later all is left. */
typedef struct ry_assign_weights {
    double *weight;
    double *rest;  /* [(first part of the chain + chain + part) * devices + device] */
    double *later; /* [chain]: of all chains behind it */
    double bound;  /* the whole problem's */
} ry_assign_weights;

enum { RY_ASSIGN_WEIGHTS = 12 };

typedef struct ry_assign_relaxation {
    const ry_assign_problem *problem;
    size_t count;
    ry_assign_weights weights[RY_ASSIGN_WEIGHTS];
    size_t *offset; /* a chain's place in `rest`, in rows of devices */
    double bound;   /* the best of all */
} ry_assign_relaxation;

/* Finds weights; what the relaxation chooses on the way is scored, and *best, with its assignment,
 * is replaced by what is better. False: out of memory. */
bool ry_assign_relax(const ry_assign_problem *problem, ry_arena *arena,
                     const ry_assign_scratch *scratch, ry_assign_relaxation *relaxation,
                     unsigned char *device, ry_assign_score *best);

#endif
