/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of a builder that the plan shows as const. */
#include "plan/plan_builder.h"

rynd_status ry_plan_take_steps(ry_plan_builder *b, size_t count, ry_error *error)
{
    b->steps = RY_TAKE(&b->plan->arena, ry_step, count);
    b->node_of_step = RY_TAKE(&b->plan->arena, ry_node_id, count);
    b->plan->steps = b->steps;
    b->plan->step_count = 0;
    return b->steps && b->node_of_step ? RYND_OK : ry_fail_memory(error);
}

void ry_plan_set_batch_splits(ry_plan_builder *b, ry_batch_split *splits, size_t count)
{
    b->plan->batch_splits = b->batch_splits = splits;
    b->plan->batch_split_count = count;
}
