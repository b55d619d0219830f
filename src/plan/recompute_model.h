/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's steps as the numbers that recomputation is decided by. */
#ifndef RY_PLAN_RECOMPUTE_MODEL_H
#define RY_PLAN_RECOMPUTE_MODEL_H

#include "plan/recompute_schedule.h"
#include "plan/value_uses.h"

enum { RY_NO_INDEX = UINT32_MAX };

typedef struct ry_recompute_model {
    ry_recompute_graph graph;
    uint32_t *index; /* per value of the plan: index of its root in the model; RY_NO_INDEX: no step
                        makes it */
    size_t rest;     /* bytes of a session beside what lives in the arena by lifetimes */
} ry_recompute_model;

/* Makes the model of a plan that has its steps, but no arena yet; lists are in the arena. The
 * forward pass ends with the step that makes the graph's output 0. */
rynd_status ry_recompute_model_create(const ry_plan_builder *b, const ry_value_uses *uses,
                                      ry_arena *arena, ry_recompute_model *model, ry_error *error);

#endif
