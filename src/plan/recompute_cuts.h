/* SPDX-License-Identifier: Apache-2.0 */
/* Two ways to say what is kept: both cut the forward pass into segments, and keep what passes from
 * one into another, and all of the last.
 *
 *     square root   segments of about the same memory, as many as one wants: with the root of the
 *                   number of steps the least memory of all (Chen et al., "Training Deep Nets with
 *                   Sublinear Memory Cost", 2016, algorithm 3)
 *     optimal       the segments of which least time is predicted to run again within a bound of
 *                   memory, by dynamic programming over where the steps may be cut (Kusumoto et
 * al., "A Graph Theoretic Framework of Recomputation Algorithms for Memory-Efficient
 *                   Backpropagation", 2019; the family of lower sets are the first k steps) */
#ifndef RY_PLAN_RECOMPUTE_CUTS_H
#define RY_PLAN_RECOMPUTE_CUTS_H

#include "plan/recompute_schedule.h"

typedef struct ry_recompute_cuts ry_recompute_cuts;

/* What both begin with; it lives in the arena, which the functions below take memory from, too.
 * NULL: out of memory. */
ry_recompute_cuts *ry_recompute_cuts_create(const ry_recompute_graph *graph, ry_arena *arena);

/* keep (a flag for each value) receives what is kept. False: out of memory. */
bool ry_recompute_keep_root(const ry_recompute_cuts *cuts, uint32_t segments, bool *keep);
/* bytes: that what is kept, a segment's values and what the backward pass itself makes may take, as
 * estimated. *found: such a cut is there, else `keep` is as it was. */
bool ry_recompute_keep_optimal(const ry_recompute_cuts *cuts, double bytes, bool *keep,
                               bool *found);
/* The bytes that the optimal way needs, as estimated, with nothing run again and at the least. */
void ry_recompute_cuts_range(const ry_recompute_cuts *cuts, double *least, double *most);

#endif
