/* SPDX-License-Identifier: Apache-2.0 */
/* Which batch normalisations the vector kernels take: dense float32, a row or a pixel at a time. */
#include "kernels/cpu/norm/batch_norm_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"

void ry_batch_norm_initialise(const ry_query *query, void *state)
{
    batch_norm_plan *s = state;
    const ry_problem *problem = query->problem;
    ry_lanes_make(&problem->in[0], 1, 2, &s->lanes);
    bool by_channel = s->lanes.inner > 1;
    s->rows = ry_lanes_cut(query->target->machine,
                           by_channel ? s->lanes.outer * s->lanes.length : s->lanes.outer,
                           4 * (by_channel ? s->lanes.inner : s->lanes.length));
}

bool ry_batch_norm_applicable(const ry_problem *problem)
{
    ry_lanes lanes;
    if (problem->inputs < 5 || !ry_problem_has_output(problem, 0) ||
        problem->out[0].dtype != RYND_DTYPE_F32 || problem->in[0].rank < 2) {
        return false;
    }
    for (int i = 0; i < 5; i++) {
        const ry_tensor *t = &problem->in[i];
        if (t->dtype != RYND_DTYPE_F32 || (i > 0 && (t->rank != 1 || !ry_tensor_is_row_major(t)))) {
            return false;
        }
    }
    return ry_lanes_alike(&problem->in[0], &problem->out[0]) &&
           ry_lanes_make(&problem->in[0], 1, 2, &lanes);
}

static double work_of(const ry_query *query, const batch_norm_plan *s, size_t tasks)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    const double bytes = ry_problem_bytes(query->problem),
                 count = (double)ry_tensor_count(&query->problem->in[0]);
    const double moved = ry_stream_work(query->target->machine, bytes);
    const double factors = (double)tasks * (double)s->lanes.length * cost->batch_factor;
    return moved + (s->lanes.inner > 1 ? (double)s->rows.extent * cost->batch_row
                                       : count * cost->batch_element + factors);
}

rynd_status ry_batch_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    batch_norm_plan s;
    ry_batch_norm_initialise(query, &s);
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.rows);
    prepared->state_size = sizeof s;
    prepared->scratch = s.lanes.inner > 1 ? 0 : (size_t)(s.lanes.length + 15) / 16 * 64;
    ry_count_work(work_of(query, &s, prepared->tasks[0]), ry_problem_bytes(query->problem),
                  prepared);
    return RYND_OK;
}
