/* SPDX-License-Identifier: Apache-2.0 */
/* What a whole assignment comes to. */
#ifndef RY_PLACEMENT_ASSIGN_SCORE_H
#define RY_PLACEMENT_ASSIGN_SCORE_H

#include "placement/assign_problem.h"

/* A whole assignment: `value` is the objective's, `total` all seconds on devices and links, which
 * decides between equal ones. INFINITY: it exceeds a memory, or a part cannot be where it is. */
typedef struct ry_assign_score {
    double value, total;
} ry_assign_score;

/* What scoring needs: loads, bytes held, the schedule. */
typedef struct ry_assign_scratch {
    double *loads, *held;
    struct ry_assign_schedule *schedule;
} ry_assign_scratch;

bool ry_assign_scratch_make(const ry_assign_problem *problem, ry_arena *arena,
                            ry_assign_scratch *scratch);
ry_assign_score ry_assign_score_of(const ry_assign_problem *problem, const unsigned char *device,
                                   const ry_assign_scratch *scratch);

static inline bool ry_assign_better(ry_assign_score a, ry_assign_score b)
{
    return a.value < b.value || (a.value == b.value && a.total < b.total);
}

#endif
