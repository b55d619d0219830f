/* SPDX-License-Identifier: Apache-2.0 */
/* What steps may write where they read. */
#ifndef RY_PLAN_IN_PLACE_H
#define RY_PLAN_IN_PLACE_H

#include "plan/value_uses.h"

/* May the kernel write the problem's output number `output` over the inputs that `old` names (a
 * flag for each)? All start at the same byte. */
bool ry_kernel_may_overwrite(const ry_kernel *kernel, const ry_problem *problem, int output,
                             const bool *old);

/* May that step write its output number `output` over `old`, the root of one of its inputs, if
 * nobody else reads it then? Both are stored in the same way, and the step computes each element
 * from the same element of `old`, which it reads before it writes. */
bool ry_plan_may_overwrite(const ry_plan_builder *b, const ry_value_uses *uses, size_t step,
                           int output, ry_value_id old);

/* The same of the step that makes `next`, and of `old`, a state's input: every reader of it is that
 * step or runs before it. */
bool ry_plan_writes_in_place(const ry_plan_builder *b, const ry_value_uses *uses, ry_value_id old,
                             ry_value_id next);

#endif
