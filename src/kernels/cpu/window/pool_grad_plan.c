/* SPDX-License-Identifier: Apache-2.0 */
/* Which gradients of pooling the vector kernels take, their rows and their cost. */
#include "kernels/cpu/window/pool_grad_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"
#include "kernels/cpu/window/pool_plan.h"

/* Larger tables are not worth their memory. */
enum { WIDEST = 1 << 22 };

int64_t ry_pool_grad_counted(const pool_grad_plan *plan, const ry_window_axis *axis, int64_t o)
{
    const ry_window_range taps =
        plan->include_pad ? ry_window_padded_taps(axis, o) : ry_window_taps(axis, o);
    return taps.end - taps.begin;
}

int64_t ry_pool_grad_taps(const pool_grad_plan *plan, int64_t row, pool_grad_row *rows)
{
    const int across = plan->window.rank - 1;
    int64_t first[RY_MAX_RANK], count[RY_MAX_RANK], step[RY_MAX_RANK] = {0}, found = 0, all = 1;
    for (int i = across - 1; i >= 0; i--) {
        const ry_window_axis *axis = &plan->window.axis[i];
        const ry_window_range taps = ry_window_taps(axis, row % axis->out);
        first[i] = ry_window_at(axis, row % axis->out, taps.begin);
        count[i] = taps.end - taps.begin;
        all *= count[i];
        row /= axis->out;
    }
    for (bool more = all > 0; more; more = ry_index_next(across, count, step)) {
        int64_t at = 0;
        for (int i = 0; i < across; i++) {
            const ry_window_axis *axis = &plan->window.axis[i];
            at = at * axis->in + first[i] + step[i] * axis->dilation;
        }
        rows[found++] = (pool_grad_row){at * pool_grad_along(plan)->in, 1};
    }
    return found;
}

int64_t ry_pool_grad_readers(const pool_grad_plan *plan, int64_t row, pool_grad_row *rows)
{
    const int across = plan->window.rank - 1;
    ry_window_readers readers[RY_MAX_RANK];
    int64_t count[RY_MAX_RANK], step[RY_MAX_RANK] = {0}, found = 0, all = 1;
    for (int i = across - 1; i >= 0; i--) {
        const ry_window_axis *axis = &plan->window.axis[i];
        readers[i] = ry_window_readers_of(axis, row % axis->in);
        count[i] = readers[i].count;
        all *= count[i];
        row /= axis->in;
    }
    for (bool more = all > 0; more; more = ry_index_next(across, count, step)) {
        int64_t at = 0;
        double share = 1;
        for (int i = 0; i < across; i++) {
            const ry_window_axis *axis = &plan->window.axis[i];
            const int64_t o = readers[i].out + step[i] * readers[i].out_step;
            at = at * axis->out + o;
            share /= (double)ry_pool_grad_counted(plan, axis, o);
        }
        rows[found++] = (pool_grad_row){at * pool_grad_along(plan)->out, share};
    }
    return found;
}

void ry_pool_grad_initialise(const ry_query *query, void *state)
{
    pool_grad_plan *s = state;
    const ry_problem *problem = query->problem;
    const ry_tensor *dy = &problem->in[0], *dx = &problem->out[0];
    *s = (pool_grad_plan){.maximum = problem->attrs.pool_grad.kind == RY_pool_kind_max,
                          .include_pad = problem->attrs.pool_grad.count_include_pad != 0,
                          .last = !ry_tensor_is_row_major(dx) || !ry_tensor_is_row_major(dy),
                          .window = ry_window_of(problem),
                          .channels = dx->dim[1],
                          .in_rows = 1,
                          .out_rows = 1,
                          .row_taps = 1};
    const ry_window_axis *along = pool_grad_along(s);
    for (const ry_window_axis *axis = s->window.axis; axis < along; axis++) {
        s->in_rows *= axis->in;
        s->out_rows *= axis->out;
        const int64_t readers =
            axis->adaptive ? ry_window_adaptive_taps(axis->out, axis->in) : axis->taps;
        s->row_taps *= s->maximum ? ry_min(axis->taps, axis->in) : ry_min(readers, axis->out);
    }
    s->in_size = s->in_rows * along->in;
    s->out_size = s->out_rows * along->out;
    s->whole = ry_pool_covers_all(&s->window);
    s->vector = query->kernel->simd.width;
    s->pitch = ry_max(pool_grad_wide(s) + (along->taps - 1) * along->dilation / along->stride,
                      ry_ceil_div(along->pad + along->in, along->stride)) +
               1;
    /* all channels of an image, unless there are too few images for the cores */
    const int64_t blocks = ry_ceil_div(s->channels, POOL_GRAD_BLOCK),
                  wanted = ry_ceil_div((int64_t)ry_costs_asked(query)->blocks.pool_grad_tasks *
                                           query->target->machine->cores,
                                       dx->dim[0]);
    s->width = ry_ceil_div(blocks, ry_min(blocks, wanted)) * POOL_GRAD_BLOCK;
    s->groups = ry_ceil_div(s->channels, s->width);
    const int64_t units =
        dx->dim[0] * (s->last ? (s->maximum ? s->groups : s->in_rows) : s->channels);
    const int64_t elements = !s->last     ? s->in_size
                             : s->maximum ? s->in_size * ry_min(s->width, s->channels)
                                          : along->in * s->channels;
    s->units = ry_lanes_cut(query->target->machine, units, 4 * elements);
}

static bool dense(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 &&
           (ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t)) && ry_tensor_count(t) > 0;
}

/* x lies as its gradient does, and y's gradient in the same order of dims. */
static bool one_layout(const ry_problem *problem, bool maximum)
{
    const ry_tensor *dy = &problem->in[0], *dx = &problem->out[0];
    return ((ry_tensor_is_row_major(dx) && ry_tensor_is_row_major(dy)) ||
            (ry_tensor_is_channels_last(dx) && ry_tensor_is_channels_last(dy))) &&
           (!maximum || ry_lanes_alike(&problem->in[1], dx));
}

bool ry_pool_grad_applicable(const ry_problem *problem)
{
    const ry_pool_grad_attrs *a = &problem->attrs.pool_grad;
    const bool maximum = a->kind == RY_pool_kind_max;
    if (a->kind == RY_pool_kind_lp || !ry_problem_has_input(problem, 0) ||
        !ry_problem_has_output(problem, 0) || !dense(&problem->in[0]) || !dense(&problem->out[0]) ||
        problem->in[0].rank < 3 || !ry_window_has_sizes(problem) ||
        (maximum && (!ry_problem_has_input(problem, 1) || !dense(&problem->in[1])))) {
        return false;
    }
    for (int i = 0; i < a->pads.count; i++) {
        if (a->pads.at[i] < 0 || a->pads.at[i] >= WIDEST) {
            return false;
        }
    }
    const ry_window w = ry_window_of(problem);
    double taps = 1, positions = 1;
    for (int i = 0; i < w.rank; i++) {
        taps *= (double)w.axis[i].taps;
        positions *= (double)w.axis[i].in;
        if (w.axis[i].stride >= WIDEST || w.axis[i].dilation >= WIDEST || w.axis[i].out >= WIDEST) {
            return false;
        }
    }
    return taps < WIDEST && positions < INT32_MAX / 2 && one_layout(problem, maximum);
}

static double work_of(const ry_query *query, const pool_grad_plan *s)
{
    const struct ry_pool_costs *cost = &ry_costs_asked(query)->pool;
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem));
    const double in = (double)ry_tensor_count(&query->problem->out[0]),
                 out = (double)ry_tensor_count(&query->problem->in[0]);
    double taps = 1;
    for (int i = 0; i < s->window.rank; i++) {
        taps *= (double)s->window.axis[i].taps;
    }
    const double rows = s->last ? 0 : in / (double)pool_grad_along(s)->in * cost->grad_row;
    const double positions = s->last ? (s->maximum ? out : in) / (double)s->channels : 0;
    const double elements =
        s->maximum ? out * (taps * cost->grad_tap + cost->grad_element) : in * cost->grad_average;
    return moved + rows + positions * cost->pixel + elements;
}

rynd_status ry_pool_grad_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    pool_grad_plan s;
    ry_pool_grad_initialise(query, &s);
    const ry_window_axis *along = pool_grad_along(&s);
    const size_t taps = (size_t)along->taps, wide = (size_t)pool_grad_wide(&s);
    /* copied rows; shifts, places of taps, and of each output a place and a tap, or two numbers */
    size_t copied = 0;
    if (s.maximum && !s.last &&
        (!ry_mul_size((size_t)s.row_taps * sizeof(float), (size_t)along->stride, &copied) ||
         !ry_mul_size(copied, (size_t)s.pitch, &copied) || copied > SIZE_MAX / 2)) {
        return ry_fail_memory(error);
    }
    const size_t numbers =
        taps * sizeof(int64_t) + ((size_t)s.row_taps * taps + 2 * wide) * sizeof(float) + copied;
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.units);
    prepared->state_size = sizeof s;
    prepared->scratch = pool_grad_rows_size(&s) + (numbers + 63) / 64 * 64;
    ry_count_work(work_of(query, &s), ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}
