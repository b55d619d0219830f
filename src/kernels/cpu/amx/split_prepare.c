/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels by tiles of split bfloat16 are asked before they run. */
#include "kernels/cpu/amx/split_prepare.h"

#include "base/whole.h"
#include "kernels/cpu/amx/split_cost.h"
#include "kernels/cpu/matmul/matmul_as_conv.h"

const ry_knob split_knobs[SPLIT_KNOBS] = {
    [SPLIT_FLAT] = {"flat", NULL, true}, [SPLIT_BLOCK] = {"block", NULL, false}, [SPLIT_UNITS] = {"units", NULL, false}};

rynd_status split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    split_plan plan;
    split_plan_choose(query, &plan);
    *prepared = (ry_prepared){.phases = 2,
                              .tasks = {(size_t)plan.row_tasks, (size_t)plan.tasks},
                              .state_size = ry_aligned(plan.size),
                              .packed = plan.packed,
                              .pack_tasks = (size_t)(plan.geometry.groups * plan.units),
                              .scratch = ry_aligned(plan.scratch),
                              .workspace = plan.workspace,
                              .work = {{split_work(&plan, query->target->machine), 0}},
                              .pack_work = split_pack_work(&plan),
                              .form = {{plan.flat, plan.block, plan.units_a_task}}};
    return RYND_OK;
}

bool matmul_split_is_possible(const ry_problem *problem)
{
    return matmul_as_conv_takes(problem, split_is_possible);
}

void matmul_split_values(const ry_query *query, int knob, ry_knob_values *values)
{
    matmul_as_conv_values(query, knob, values, split_values);
}

rynd_status matmul_split_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    return matmul_as_conv_prepare(query, prepared, error, split_prepare);
}

void matmul_split_initialise(const ry_query *query, void *state)
{
    matmul_as_conv_initialise(query, state, split_initialise);
}
