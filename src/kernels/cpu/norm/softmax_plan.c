/* SPDX-License-Identifier: Apache-2.0 */
/* Which softmaxes the vector kernels take: any axis of dense tensors, and what they cost. */
#include "kernels/cpu/norm/softmax_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/simd/half_rows.h"

static bool lanes_of(const ry_problem *problem, ry_lanes *lanes)
{
    const ry_softmax_attrs *a = &problem->attrs.softmax;
    int rank = problem->in[0].rank, axis = ry_axis(a->axis, rank);
    return axis >= 0 && ry_lanes_make(&problem->in[0], axis, a->flatten ? rank : axis + 1, lanes);
}

void ry_softmax_initialise(const ry_query *query, void *state)
{
    ry_lane_blocks *s = state;
    const ry_problem *problem = query->problem;
    *s = (ry_lane_blocks){0};
    lanes_of(problem, &s->lanes);
    ry_lane_blocks_cut(query->target->machine, RY_LANE_COLUMNS, s);
}

bool ry_softmax_applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           ry_row_dtype(problem->in[0].dtype) && problem->out[0].dtype == problem->in[0].dtype &&
           problem->attrs.softmax.kind != RY_softmax_kind_hardmax &&
           ry_lanes_alike(&problem->in[0], &problem->out[0]) && lanes_of(problem, &lanes);
}

/* Lines of full vectors: the rows, or each step along the columns of a block. */
static double work_of(const ry_query *query, const ry_lanes *lanes)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    const int width = query->kernel->simd.width;
    const bool rows = lanes->inner == 1;
    const double lines = (double)lanes->outer * (double)(rows ? 1 : lanes->length);
    const double line = (double)ry_round_up(rows ? lanes->length : lanes->inner, width);
    return lines * line * cost->softmax_element + (rows ? lines * cost->softmax_row : 0);
}

rynd_status ry_softmax_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    ry_lane_blocks s;
    ry_softmax_initialise(query, &s);
    ry_lane_blocks_prepare(&s, prepared);
    ry_count_work(work_of(query, &s.lanes), ry_problem_bytes(problem), prepared);
    if (problem->in[0].dtype != RYND_DTYPE_F32) { /* a block, and its result */
        int64_t columns = s.lanes.inner < RY_LANE_COLUMNS ? s.lanes.inner : RY_LANE_COLUMNS;
        prepared->scratch = (size_t)(2 * s.lanes.length * columns + 15) / 16 * 64;
    }
    return RYND_OK;
}
