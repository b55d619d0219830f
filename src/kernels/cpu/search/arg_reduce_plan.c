/* SPDX-License-Identifier: Apache-2.0 */
/* Which argmax and argmin the vector kernels take: dense numbers of any type, any axis. */
#include "kernels/cpu/search/arg_reduce_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"

static int axis_of(const ry_problem *problem)
{
    return ry_axis(problem->attrs.arg_reduce.axis, problem->in[0].rank);
}

void ry_arg_reduce_initialise(const ry_query *query, void *state)
{
    ry_lane_blocks *s = state;
    const ry_problem *problem = query->problem;
    int axis = axis_of(problem);
    ry_lanes_make(&problem->in[0], axis, axis + 1, &s->lanes);
    ry_lane_blocks_cut(query->target->machine, RY_LANE_COLUMNS, s);
}

/* Where the output's elements are in the order of the input's lanes: the other dims must be dense
 * and in the same order. */
static bool output_follows(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    int axis = axis_of(problem);
    for (int i = 0, j = 0; i < x->rank; i++) {
        if (i == axis) {
            j += problem->attrs.arg_reduce.keepdims != 0;
            continue;
        }
        const bool outside = x->dim[axis] > 1 && x->stride[i] > x->stride[axis];
        if (x->dim[i] > 1 &&
            y->stride[j] != (outside ? x->stride[i] / x->dim[axis] : x->stride[i])) {
            return false;
        }
        j++;
    }
    return true;
}

bool ry_arg_reduce_applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype != RYND_DTYPE_BOOL && problem->out[0].dtype == RYND_DTYPE_I64 &&
           axis_of(problem) >= 0 &&
           ry_lanes_make(&problem->in[0], axis_of(problem), axis_of(problem) + 1, &lanes) &&
           output_follows(problem);
}

rynd_status ry_arg_reduce_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_search_costs *cost = &ry_costs_asked(query)->search;
    (void)error;
    ry_lane_blocks s;
    ry_arg_reduce_initialise(query, &s);
    ry_lane_blocks_prepare(&s, prepared);
    const double count = (double)ry_tensor_count(&query->problem->in[0]);
    const bool tiles = s.lanes.length <= ARG_SHORT_ROW && s.units.part >= ARG_LEAST_ROWS;
    const double rows =
        tiles ? count * cost->tiled : (double)s.units.extent * cost->row + count * cost->element;
    ry_count_work(s.blocks ? count * cost->column : rows, ry_problem_bytes(query->problem),
                  prepared);
    return RYND_OK;
}
