/* SPDX-License-Identifier: Apache-2.0 */
/* Which local response normalisations the vector kernels take: dense f32, f16 and bf16. */
#include "kernels/cpu/norm/lrn_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/simd/half_rows.h"

void ry_lrn_initialise(const ry_query *query, void *state)
{
    ry_lane_blocks *s = state;
    const ry_problem *problem = query->problem;
    ry_lanes_make(&problem->in[0], 1, 2, &s->lanes);
    ry_lane_blocks_cut(query->target->machine, RY_LANE_COLUMNS, s);
}

bool ry_lrn_applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           ry_row_dtype(problem->in[0].dtype) && problem->in[0].dtype == problem->out[0].dtype &&
           problem->in[0].rank >= 2 && problem->attrs.lrn.size > 0 &&
           ry_lanes_alike(&problem->in[0], &problem->out[0]) &&
           ry_lanes_make(&problem->in[0], 1, 2, &lanes);
}

rynd_status ry_lrn_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    (void)error;
    ry_lane_blocks s;
    ry_lrn_initialise(query, &s);
    ry_lane_blocks_prepare(&s, prepared);
    prepared->scratch = s.blocks ? 0 : (size_t)(3 * s.lanes.length + 15) / 16 * 64;
    const ry_lrn_attrs *a = &query->problem->attrs.lrn;
    const double each = (float)a->beta == 0.75f ? cost->lrn_roots : cost->lrn_power;
    const double square = s.blocks ? cost->lrn_column : cost->lrn_row;
    const double squares = (double)ry_min(a->size, 2 * s.lanes.length);
    const double count = (double)ry_tensor_count(&query->problem->in[0]);
    ry_count_work(count * (each + squares * square), ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
