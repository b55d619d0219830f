/* SPDX-License-Identifier: Apache-2.0 */
/* Which top-k the heap takes: row-major numbers of any type, any axis. */
#include "kernels/cpu/search/topk_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"

#include <math.h>

static int axis_of(const ry_problem *problem)
{
    return ry_axis(problem->attrs.topk.axis, problem->in[0].rank);
}

void ry_topk_initialise(const ry_query *query, void *memory)
{
    ry_topk_plan *s = memory;
    const ry_problem *problem = query->problem;
    int axis = axis_of(problem);
    ry_lanes_make(&problem->in[0], axis, axis + 1, &s->lanes);
    s->k = problem->out[0].dim[axis];
    s->units =
        ry_lanes_cut(query->target->machine, s->lanes.outer * s->lanes.inner, 4 * s->lanes.length);
}

bool ry_topk_applicable(const ry_problem *problem)
{
    int axis = axis_of(problem);
    ry_lanes lanes;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || axis < 0 ||
        problem->in[0].dtype == RYND_DTYPE_BOOL || problem->out[0].dtype != problem->in[0].dtype ||
        problem->in[0].dim[axis] > INT32_MAX ||
        problem->out[0].dim[axis] > problem->in[0].dim[axis]) {
        return false;
    }
    if (ry_problem_has_output(problem, 1) &&
        (problem->out[1].dtype != RYND_DTYPE_I64 || !ry_tensor_is_row_major(&problem->out[1]))) {
        return false;
    }
    return ry_tensor_is_row_major(&problem->in[0]) && ry_tensor_is_row_major(&problem->out[0]) &&
           ry_lanes_make(&problem->in[0], axis, axis + 1, &lanes);
}

rynd_status ry_topk_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    ry_topk_plan s;
    ry_topk_initialise(query, &s);
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.units);
    prepared->state_size = sizeof s;
    const size_t k = (size_t)s.k;
    if (k > SIZE_MAX / 64) {
        return ry_fail_memory(error);
    }
    prepared->scratch = (k * 2 * sizeof(uint64_t) + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
    const double refused = (double)s.lanes.length * ry_costs_asked(query)->search.refused;
    const double sorted = (double)k * log2((double)k + 1) * ry_costs_asked(query)->search.sorted;
    ry_count_work((double)s.units.extent * (refused + sorted), ry_problem_bytes(problem), prepared);
    return RYND_OK;
}
