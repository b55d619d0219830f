/* SPDX-License-Identifier: Apache-2.0 */
/* Which step makes a value, and which is the last to read it. */
#ifndef RY_PLAN_VALUE_USES_H
#define RY_PLAN_VALUE_USES_H

#include "plan/plan_builder.h"

typedef struct ry_value_uses {
    /* of each value: that whose memory an alias (aliases.h) shares; itself otherwise */
    ry_value_id *root;
    /* of roots: the step that makes it, and the last that reads it; 0 where there is none */
    uint32_t *first, *last;
    bool *made; /* of roots: a step makes it */
} ry_value_uses;

/* For the plan's steps; the arrays are in the plan's arena. */
rynd_status ry_plan_find_uses(ry_plan_builder *b, ry_value_uses *uses, ry_error *error);

/* Bytes of a value; 0 for one that is absent. */
size_t ry_plan_value_bytes(const ry_graph *graph, ry_value_id id);

#endif
