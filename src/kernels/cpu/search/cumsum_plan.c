/* SPDX-License-Identifier: Apache-2.0 */
/* Which cumulative sums the vector kernels take: dense numbers of any type, any axis. */
#include "kernels/cpu/search/cumsum_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"

static int axis_of(const ry_problem *problem)
{
    return ry_axis(problem->attrs.cumsum.axis, problem->in[0].rank);
}

void ry_cumsum_initialise(const ry_query *query, void *state)
{
    ry_lane_blocks *s = state;
    const int axis = axis_of(query->problem);
    ry_lanes_make(&query->problem->in[0], axis, axis + 1, &s->lanes);
    const ry_machine *machine = query->target->machine;
    const int64_t even = ry_ceil_div(s->lanes.outer * s->lanes.inner, ry_max(machine->cores, 1));
    ry_lane_blocks_cut(
        machine, ry_clamp(ry_round_up(even, RY_LANE_COLUMNS), RY_LANE_COLUMNS, CUMSUM_COLUMNS), s);
}

bool ry_cumsum_applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           problem->in[0].dtype == problem->out[0].dtype &&
           problem->in[0].dtype != RYND_DTYPE_BOOL && axis_of(problem) >= 0 &&
           ry_lanes_alike(&problem->in[0], &problem->out[0]) &&
           ry_lanes_make(&problem->in[0], axis_of(problem), axis_of(problem) + 1, &lanes);
}

rynd_status ry_cumsum_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_search_costs *cost = &ry_costs_asked(query)->search;
    (void)error;
    ry_lane_blocks s;
    ry_cumsum_initialise(query, &s);
    ry_lane_blocks_prepare(&s, prepared);
    const double count = (double)ry_tensor_count(&query->problem->in[0]);
    ry_count_work(count * (s.blocks ? cost->scan_column : cost->scan_row),
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
