/* SPDX-License-Identifier: Apache-2.0 */
/* Which dropouts the vector kernels take: float32, row-major on both sides, so that an element's
 * number is its place in memory. */
#include "kernels/cpu/random/dropout_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/dense_lanes.h"

bool ry_dropout_applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && problem->in[0].dtype == RYND_DTYPE_F32 &&
           problem->out[0].dtype == RYND_DTYPE_F32 && problem->attrs.dropout.ratio >= 0 &&
           problem->attrs.dropout.ratio < 1 && ry_tensor_is_row_major(&problem->in[0]) &&
           ry_tensor_is_row_major(&problem->out[0]);
}

void ry_dropout_initialise(const ry_query *query, void *state)
{
    ry_dropout_plan *plan = state;
    plan->count = ry_tensor_count(&query->problem->in[0]);
    const int64_t groups = ry_ceil_div(plan->count, RY_DROPOUT_GROUP);
    plan->elements_of_task =
        ry_lanes_per_task(query->target->machine, groups, RY_DROPOUT_GROUP * 4) * RY_DROPOUT_GROUP;
}

rynd_status ry_dropout_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_dropout_plan plan;
    (void)error;
    ry_dropout_initialise(query, &plan);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(plan.count, plan.elements_of_task);
    prepared->state_size = sizeof plan;
    ry_count_work((double)plan.count * ry_costs_asked(query)->random.dropout,
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
