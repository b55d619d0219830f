/* SPDX-License-Identifier: Apache-2.0 */
/* From nodes to steps: which kernel, prepared how. */
#ifndef RY_PLAN_MAKE_STEPS_H
#define RY_PLAN_MAKE_STEPS_H

#include "plan/plan_builder.h"

struct ry_choice;

/* The kernel that a node is predicted to get for `problem`, which is the node's in some layout. The
 * error of a node that no kernel takes names it. */
rynd_status ry_plan_predict_kernel(ry_plan_builder *b, const ry_node *node,
                                   const ry_problem *problem, struct ry_choice *choice,
                                   ry_error *error);

/* Fills b->steps for the nodes of b->graph that compute something (views of row-major values
 * do not), in order. b->node_of_step[i] is step i's node. */
rynd_status ry_plan_make_steps(ry_plan_builder *b, ry_error *error);

/* Makes the step of a node; `images`: how many of the batch it gets at a time, 0 for all. */
rynd_status ry_plan_make_step(ry_plan_builder *b, const ry_node *node, int64_t images,
                              ry_step *step, ry_error *error);

/* The same of the problem that `step` has. */
rynd_status ry_plan_make_step_of_problem(ry_plan_builder *b, const ry_node *node, ry_step *step,
                                         ry_error *error);

#endif
