/* SPDX-License-Identifier: Apache-2.0 */
/* Which states can be written where they are read. */
#ifndef RY_PLAN_IN_PLACE_H
#define RY_PLAN_IN_PLACE_H

#include "plan/uses.h"

/* May the step that makes `next` write it over `old`, a state's input? Every reader of `old` is
 * that step or runs before it, and the step computes each element from the same element of `old`,
 * which it reads before it writes. */
bool ry_plan_writes_in_place(const ry_plan *plan, const ry_uses *uses,
                             const ry_node_id *node_of_step, ry_value_id old, ry_value_id next);

#endif
