/* SPDX-License-Identifier: Apache-2.0 */
/* Finds each value's maker and its last reader. */
#ifndef RY_PLAN_VALUE_USES_H
#define RY_PLAN_VALUE_USES_H

#include "plan/plan_builder.h"

typedef struct ry_value_uses {
    /* per value: the value whose memory it shares as an alias (aliases.h); else itself */
    ry_value_id *root;
    /* per root: maker step and last reader step; 0: none */
    uint32_t *first, *last;
    bool *made; /* per root: a step makes it */
} ry_value_uses;

/* For the plan's steps; the arrays are in the plan's arena. */
rynd_status ry_plan_find_uses(ry_plan_builder *b, ry_value_uses *uses, ry_error *error);

/* Bytes of a value; 0 for RY_NO_VALUE. */
size_t ry_plan_value_bytes(const ry_graph *graph, ry_value_id id);

#endif
