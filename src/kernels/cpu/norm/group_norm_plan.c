/* SPDX-License-Identifier: Apache-2.0 */
/* Which group normalisations the vector kernels take, and their parts. */
#include "kernels/cpu/norm/group_norm_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/norm/moments.h"
#include "kernels/cpu/parts/dense_lanes.h"

/* Parts a group: enough for many cores, few enough that joining them costs nothing. Their sizes do
 * not follow the machine, for the sums of other parts have other bits. */
enum { MAX_PARTS = 32, PART = 1 << 14 };

void ry_group_norm_initialise(const ry_query *query, void *state)
{
    group_norm_plan *s = state;
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0];
    int64_t groups = problem->attrs.group_norm.groups;
    *s = (group_norm_plan){.last = !ry_tensor_is_row_major(x),
                           .images = x->dim[0],
                           .groups = groups,
                           .channels = x->dim[1],
                           .spatial = 1};
    for (int i = 2; i < x->rank; i++) {
        s->spatial *= x->dim[i];
    }
    s->width = s->channels / groups;
    const int64_t length = s->last ? s->spatial : s->width * s->spatial;
    const int64_t step = ry_max(ry_min(length, ry_max(PART / (s->last ? s->channels : 1), 1)),
                                ry_ceil_div(length, MAX_PARTS));
    s->cut = (ry_task_cut){{{s->images * (s->last ? 1 : groups), 1}, {length, step}}};
    s->parts = ry_cut_parts(&s->cut.axis[1]);
}

bool ry_group_norm_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0];
    for (int i = 0; i < 3; i++) {
        if (!ry_problem_has_input(problem, i) || problem->in[i].dtype != RYND_DTYPE_F32 ||
            (i > 0 && (problem->in[i].rank != 1 || !ry_tensor_is_row_major(&problem->in[i])))) {
            return false;
        }
    }
    return ry_problem_has_output(problem, 0) && problem->out[0].dtype == RYND_DTYPE_F32 &&
           x->rank >= 2 && ry_tensor_count(x) > 0 && ry_lanes_alike(x, &problem->out[0]) &&
           (ry_tensor_is_row_major(x) || ry_tensor_is_channels_last(x)) &&
           problem->attrs.group_norm.groups > 0 &&
           x->dim[1] % problem->attrs.group_norm.groups == 0;
}

rynd_status ry_group_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_norm_costs *cost = &ry_costs_asked(query)->norm;
    (void)error;
    group_norm_plan s;
    ry_group_norm_initialise(query, &s);
    const size_t parts = (size_t)ry_cut_tasks(&s.cut);
    prepared->phases = s.last ? 3 : 2;
    prepared->tasks[0] = parts;
    prepared->tasks[1] = s.last ? (size_t)(s.images * s.groups) : parts;
    prepared->tasks[2] = s.last ? parts : 0;
    prepared->state_size = sizeof s;
    prepared->workspace = (size_t)(s.images * s.groups * s.parts) * sizeof(ry_moments);
    prepared->scratch = s.last ? (size_t)(3 * s.channels + 15) / 16 * 64 : 0;
    const ry_tensor *x = &query->problem->in[0];
    const double count = (double)ry_tensor_count(x), rows = (double)(s.images * s.channels);
    const double work =
        s.last ? count * cost->group_last : count * cost->group_first + rows * cost->group_row;
    ry_count_work(work, ry_problem_bytes(query->problem) + (double)ry_tensor_bytes(x), prepared);
    return RYND_OK;
}
