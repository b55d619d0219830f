/* SPDX-License-Identifier: Apache-2.0 */
/* Which forms a plan's weights have already, and which it decides for later plans (weights.h). */
#ifndef RY_PLAN_BOUND_H
#define RY_PLAN_BOUND_H

#include "plan/plan_builder.h"
#include "plan/weights.h"

/* After folding: is the plan bound to forms, or free? */
void ry_plan_find_bound(ry_plan_builder *b);

/* The forms that a node's weights have; NULL: it may take any. */
const ry_bound_forms *ry_plan_bound(const ry_plan_builder *b, const ry_node *node,
                                    ry_bound_forms *room);

/* As ry_choices_find, of a node of the plan's graph. */
rynd_status ry_plan_find_choice(ry_plan_builder *b, const ry_node *node, const ry_problem *problem,
                                ry_choice *choice, ry_error *error);

/* Decides the forms of weights that had none. *late: another plan has done so while this one was
 * made, which must be made again. */
rynd_status ry_plan_decide_forms(ry_plan_builder *b, bool *late, ry_error *error);

#endif
