/* SPDX-License-Identifier: Apache-2.0 */
/* Branch and bound over segments. */
#ifndef RY_PLACEMENT_ASSIGN_SEARCH_H
#define RY_PLACEMENT_ASSIGN_SEARCH_H

#include "placement/assign_relax.h"

/* Replaces *best and its assignment by the best there is, as long as it takes no more than the
 * problem's nodes. *bound: no assignment is below. *nodes: that were branched on. False: out of
 * memory. */
bool ry_assign_search(const ry_assign_relaxation *relaxation, ry_arena *arena,
                      const ry_assign_scratch *scratch, unsigned char *device,
                      ry_assign_score *best, double *bound, size_t *nodes);

/* Moves parts, and whole segments, to other devices while that makes it better; the assignment must
 * be possible. */
void ry_assign_improve(const ry_assign_problem *problem, const ry_assign_scratch *scratch,
                       unsigned char *device, ry_assign_score *best);

#endif
