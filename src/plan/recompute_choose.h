/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept, so that the memory of a step is within a limit and least time is predicted. */
#ifndef RY_PLAN_RECOMPUTE_CHOOSE_H
#define RY_PLAN_RECOMPUTE_CHOOSE_H

#include "plan/recompute_schedule.h"

typedef struct ry_recompute_choice {
    bool *keep;     /* per value; NULL: no choice fits */
    double seconds; /* seconds of recomputation */
    size_t bytes;   /* bytes of the arena */
    size_t least;   /* smallest arena of all tried choices */
} ry_recompute_choice;

/* Tries both ways of recompute_cuts.h, and dropping what is cheapest to recompute for its size;
 * what the limit leaves room for is then kept besides. Lists are in the arena. False: out of
 * memory. */
bool ry_recompute_choose(const ry_recompute_graph *graph, size_t limit, ry_arena *arena,
                         ry_recompute_choice *choice);

#endif
