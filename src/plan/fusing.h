/* SPDX-License-Identifier: Apache-2.0 */
/* Predicted times of nodes apart and joined, for the passes that fuse nodes. */
#ifndef RY_PLAN_FUSING_H
#define RY_PLAN_FUSING_H

#include "plan/plan_builder.h"

typedef struct ry_fusing {
    ry_plan_builder *b;
    ry_arena arena;      /* for one pass */
    bool *channels_last; /* layout to ask about, of each value */
    ry_error *error;
} ry_fusing;

/* Starts with all values row-major. Call ry_fusing_end whatever the status is. */
rynd_status ry_fusing_begin(ry_fusing *f, ry_plan_builder *b, ry_error *error);
void ry_fusing_end(ry_fusing *f);

/* Asks about `id` in channels last or row-major from now on. A value whose two layouts are the same
 * memory stays row-major, as in the plan (layouts.h). RY_NO_VALUE: does nothing. */
void ry_fusing_lay(ry_fusing *f, ry_value_id id, bool last);

/* Seconds of a node that the graph has, the meeting of the threads included. */
rynd_status ry_fusing_separate(ry_fusing *f, const ry_node *node, double *seconds);

/* The problem of a node in the layouts to ask about; its descriptions are in f->arena. */
rynd_status ry_fusing_problem(ry_fusing *f, const ry_node *node, ry_problem *problem);

/* Seconds of the problem that several nodes would become. INFINITY where only a reference kernel
 * takes it, or only the CPU's kernel in the plan of another device: the nodes then stay apart. */
rynd_status ry_fusing_joined(ry_fusing *f, const ry_node *node, const ry_problem *problem,
                             double *seconds);

#endif
