/* SPDX-License-Identifier: Apache-2.0 */
/* Which col2im the vector kernels take: row-major numbers of any type. */
#include "kernels/cpu/window/col2im_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

/* Has the input as many taps and blocks as the window? */
static bool blocks_match(const ry_problem *problem)
{
    const ry_window w = ry_window_of(problem);
    double taps = (double)problem->out[0].dim[1], blocks = 1;
    for (int i = 0; i < w.rank; i++) {
        taps *= (double)w.axis[i].taps;
        blocks *= (double)w.axis[i].out;
    }
    return (double)problem->in[0].dim[1] == taps && (double)problem->in[0].dim[2] == blocks;
}

bool ry_col2im_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           x->dtype == y->dtype && x->dtype != RYND_DTYPE_BOOL && x->rank == 3 && y->rank >= 3 &&
           ry_tensor_is_row_major(x) && ry_tensor_is_row_major(y) && ry_tensor_count(x) > 0 &&
           ry_tensor_count(y) > 0 && blocks_match(problem) &&
           (uint64_t)y->dim[y->rank - 1] <= SIZE_MAX / 16;
}

void ry_col2im_initialise(const ry_query *query, void *state)
{
    col2im_plan *s = state;
    const ry_problem *problem = query->problem;
    *s = (col2im_plan){
        .window = ry_window_of(problem), .rows = 1, .taps = 1, .positions = problem->in[0].dim[2]};
    for (int i = 0; i < s->window.rank; i++) {
        s->taps *= s->window.axis[i].taps;
        s->rows *= i + 1 < s->window.rank ? s->window.axis[i].in : 1;
    }
    const ry_window_axis *along = &s->window.axis[s->window.rank - 1];
    s->pitch = (along->in - 1) / along->stride + 1;
    s->values = ry_min(along->stride, along->in) * s->pitch;
    s->known = s->window.rank == 2 && s->rows <= COL2IM_ROWS;
    s->row = ry_aligned(COL2IM_TAPS * sizeof(col2im_tap) +
                        (s->known ? (size_t)s->rows * sizeof(ry_window_readers) : 0));
    const int64_t units = problem->out[0].dim[0] * problem->out[0].dim[1] * s->rows;
    s->units = ry_lanes_cut(query->target->machine, units,
                            (int64_t)(ry_problem_bytes(problem) / (double)units));
}

rynd_status ry_col2im_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_pool_costs *cost = &ry_costs_asked(query)->pool;
    (void)error;
    col2im_plan s;
    ry_col2im_initialise(query, &s);
    const ry_window_axis *along = &s.window.axis[s.window.rank - 1];
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.units);
    prepared->state_size = sizeof s;
    prepared->scratch = s.row + ry_aligned((size_t)s.values * sizeof(uint64_t));
    const double each = along->stride == 1 ? cost->lane : 2 * cost->lane;
    ry_count_work((double)s.units.extent * cost->row +
                      (double)ry_tensor_count(&query->problem->in[0]) * each,
                  ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
