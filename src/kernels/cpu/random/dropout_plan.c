/* SPDX-License-Identifier: Apache-2.0 */
/* Which dropouts and fills the vector kernels take: row-major tensors, so that an element's number
 * is its place in memory. */
#include "kernels/cpu/random/dropout_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/dense_lanes.h"

bool ry_dropout_applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           (!ry_problem_has_output(problem, 1) || ry_tensor_is_row_major(&problem->out[1])) &&
           problem->in[0].dtype == RYND_DTYPE_F32 && problem->out[0].dtype == RYND_DTYPE_F32 &&
           problem->attrs.dropout.ratio >= 0 && problem->attrs.dropout.ratio < 1 &&
           ry_tensor_is_row_major(&problem->in[0]) && ry_tensor_is_row_major(&problem->out[0]);
}

bool ry_fill_applicable(const ry_problem *problem)
{
    const bool bernoulli = problem->attrs.random.kind == RY_random_kind_bernoulli;
    return ry_problem_has_input(problem, 0) && ry_problem_has_input(problem, 1) &&
           ry_problem_has_output(problem, 0) && ry_tensor_is_row_major(&problem->out[0]) &&
           (ry_dtype_is_float((ry_dtype)problem->out[0].dtype) ||
            (bernoulli && problem->out[0].dtype == RYND_DTYPE_BOOL));
}

void ry_dropout_initialise(const ry_query *query, void *state)
{
    ry_dropout_plan *plan = state;
    const int64_t count = ry_tensor_count(&query->problem->out[0]);
    const ry_cut_axis groups =
        ry_lanes_cut(query->target->machine, ry_ceil_div(count, RY_DROPOUT_GROUP),
                     RY_DROPOUT_GROUP * (int64_t)sizeof(float));
    plan->elements = (ry_cut_axis){count, groups.part * RY_DROPOUT_GROUP};
}

rynd_status ry_dropout_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_dropout_plan plan;
    (void)error;
    ry_dropout_initialise(query, &plan);
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&plan.elements);
    prepared->state_size = sizeof plan;
    const ry_problem *problem = query->problem;
    const bool normal =
        problem->op == RY_OP_random && problem->attrs.random.kind == RY_random_kind_normal;
    const struct ry_random_costs *cost = &ry_costs_asked(query)->random;
    ry_count_work((double)plan.elements.extent * (normal ? cost->normal : cost->dropout),
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
