/* SPDX-License-Identifier: Apache-2.0 */
/* Legal windows, tables and tasks of pooling. */
#include "kernels/cpu/window/pool_plan.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"
#include "problem/limits.h"

#include <math.h>

/* MOST_OFFSETS: rows of all windows, 8 bytes each. */
enum { WIDEST = RY_LIMIT_POOL_WIDTH, MOST_OFFSETS = 1 << 22 };

/* Vectors of planes that are transposed together: as many as a loop of channels takes. */
enum { TURNED = 4 };

bool ry_pool_covers_all(const ry_window *w)
{
    for (int i = 0; i < w->rank; i++) {
        if (w->axis[i].out != 1 || w->axis[i].taps != w->axis[i].in || w->axis[i].dilation != 1 ||
            w->axis[i].pad != 0) {
            return false;
        }
    }
    return true;
}

/* Taps inside x, over all positions of an axis. */
static double taps_inside(const ry_window_axis *w)
{
    double all = 0;
    for (int64_t o = 0; w->adaptive && o < w->out; o++) {
        all += (double)ry_window_taps(w, o).end;
    }
    for (int64_t t = 0; !w->adaptive && t < w->taps; t++) {
        const ry_window_range o =
            ry_window_inside(w->in, t * w->dilation - w->pad, w->stride, w->out);
        all += (double)(o.end - o.begin);
    }
    return all;
}

/* NHWC, of an output row with so many taps down: loads of a vector for each output position, and
 * for each input position on the way through a reduced row. */
static double loads_direct(const ry_window_axis *w, double taps)
{
    return taps * taps_inside(w);
}

static double loads_reduced(const ry_window_axis *w, double taps)
{
    return (double)(w->out * (w->taps + 1)) + (double)w->in * (taps + 1);
}

static bool crops(const ry_problem *problem)
{
    const ry_ints *pads = &problem->attrs.pool.pads;
    bool any = false;
    for (int i = 0; i < pads->count; i++) {
        any = any || pads->at[i] < 0;
    }
    return any;
}

/* Does pool_f32 take its type, kind, pads, windows and outputs? */
static bool plain_floats(const ry_problem *problem)
{
    const ry_dtype dtype = (ry_dtype)problem->in[0].dtype;
    return !crops(problem) && problem->attrs.pool.output.count == 0 &&
           (dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16) &&
           !ry_problem_has_output(problem, 1) && problem->attrs.pool.kind != RY_pool_kind_lp;
}

static double vectors(int64_t count, int width)
{
    return (double)ry_ceil_div(count, width);
}

/* NCHW: rows joined, then the steps along the row that they give. */
static double row_work(const pool_plan *s, double down, int width, const struct ry_pool_costs *cost)
{
    const ry_window_axis *w = pool_along(&s->window);
    const double out = vectors(w->out, width);
    const bool halves = w->stride == 2 && w->dilation == 1 && (w->taps == 2 || w->taps == 3);
    const double joined = down * vectors(w->in, width) * cost->vector;
    /* halves come in pairs: a third tap needs another pair */
    const double tap = halves ? out * cost->vector : cost->tap + out * cost->next;
    const int64_t taps = halves ? ry_round_up(w->taps, 2) : w->taps;
    return cost->row + joined + (double)taps * tap + (s->maximum ? 0 : cost->mean);
}

/* PLANES: vectors of a block that are transposed. */
static double turn_work(const pool_plan *s, int width, const struct ry_pool_costs *cost)
{
    return ((double)pool_block_in(s, width) * cost->turn +
            (double)pool_block_out(s, width) * cost->turn_back) /
           (double)width;
}

static double work_of(const ry_query *query, const pool_plan *s)
{
    const struct ry_pool_costs *cost = &ry_costs_asked(query)->pool;
    const ry_window_axis *w = pool_along(&s->window);
    const int width = query->kernel->simd.width;
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem));
    const double planes = (double)s->planes, rows = planes * (double)s->rows;
    /* taps of an output row that meet x, on average */
    double down = 1;
    for (const ry_window_axis *axis = s->window.axis; axis < w; axis++) {
        down *= taps_inside(axis) / (double)axis->out;
    }
    if (s->path == POOL_FULL) {
        return planes * (cost->plane + vectors(s->in_size, width) * cost->sum);
    }
    if (s->path == POOL_ROWS) {
        return ry_overlapped_work(rows * row_work(s, down, width, cost), moved);
    }
    const double loads = s->separable ? loads_reduced(w, down) : loads_direct(w, down);
    const double each = loads * vectors(s->channels, width) * cost->load,
                 row = each + (double)w->out * cost->pixel;
    const double blocks = ceil(planes / (double)s->channels);
    const double turned = s->path == POOL_PLANES ? turn_work(s, width, cost) : 0;
    return ry_overlapped_work(blocks * ((double)s->rows * row + turned), moved);
}

static void set_separable(pool_plan *s, int64_t taps_down)
{
    const ry_window_axis *along = pool_along(&s->window);
    s->width = along->in * s->channels;
    s->separable =
        loads_reduced(along, (double)taps_down) < loads_direct(along, (double)taps_down) &&
        s->width < WIDEST;
}

/* NCHW: takes planes as channels, where they are small enough for it to take less time. */
static void turn_planes(const ry_query *query, int64_t taps_down, pool_plan *s)
{
    const int64_t width = query->kernel->simd.width;
    const ry_machine *machine = query->target->machine;
    pool_plan turned = *s;
    turned.path = POOL_PLANES;
    turned.channels = ry_min(TURNED * width, ry_round_up(s->planes, width));
    set_separable(&turned, taps_down);
    const int64_t bytes = 4 * (pool_block_in(&turned, width) + pool_block_out(&turned, width));
    if (bytes > ry_machine_core_share(machine, RYND_LEVEL_L2, 0.5) ||
        work_of(query, &turned) >= work_of(query, s)) {
        return;
    }
    turned.units = ry_lanes_cut(machine, ry_ceil_div(s->planes, turned.channels), bytes);
    *s = turned;
}

static void describe(const ry_query *query, pool_plan *s)
{
    const ry_problem *problem = query->problem;
    const bool lanes = query->kernel->applicable == ry_pool_lanes_applicable;
    const ry_tensor *x = &problem->in[0];
    *s = (pool_plan){.maximum = problem->attrs.pool.kind == RY_pool_kind_max,
                     .include_pad = problem->attrs.pool.count_include_pad != 0,
                     .window = ry_window_of(problem),
                     .planes = x->dim[0] * x->dim[1],
                     .channels = x->dim[1],
                     .in_size = 1,
                     .rows = 1};
    const ry_window_axis *along = pool_along(&s->window);
    int64_t taps = 1;
    for (const ry_window_axis *axis = s->window.axis; axis < along; axis++) {
        s->in_size *= axis->in;
        s->rows *= axis->out;
        taps *= axis->taps;
    }
    s->in_size *= along->in;
    /* a tensor of 1x1 images is both */
    const bool planes = ry_tensor_is_row_major(x) && ry_tensor_is_row_major(&problem->out[0]);
    s->path = !planes                                    ? POOL_CHANNELS
              : ry_pool_covers_all(&s->window) && !lanes ? POOL_FULL
                                                         : POOL_ROWS;
    const ry_machine *machine = query->target->machine;
    const int64_t row_bytes = 4 * taps * along->in;
    s->units = s->path == POOL_FULL   ? ry_lanes_cut(machine, s->planes, 4 * s->in_size)
               : s->path == POOL_ROWS ? ry_lanes_cut(machine, s->planes * s->rows, row_bytes)
                                      : ry_lanes_cut(machine, s->planes / s->channels * s->rows,
                                                     row_bytes * s->channels);
    s->width =
        ry_max(ry_window_covered(along), along->pad + along->in) + 2 * query->kernel->simd.width;
    if (s->path == POOL_CHANNELS) {
        set_separable(s, taps);
    } else if (!lanes) {
        turn_planes(query, taps, s);
    }
    s->byte_rows = lanes && s->path == POOL_CHANNELS && s->maximum &&
                   !ry_problem_has_output(problem, 1) && ry_dtype_size((ry_dtype)x->dtype) == 1 &&
                   s->width < WIDEST;
}

/* Both row-major, or both channels last. */
static bool same_layout(const ry_tensor *a, const ry_tensor *b)
{
    return (ry_tensor_is_row_major(a) && ry_tensor_is_row_major(b)) ||
           (ry_tensor_is_channels_last(a) && ry_tensor_is_channels_last(b));
}

static bool window_fits(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (x->dtype != y->dtype || !same_layout(x, y) || ry_tensor_count(x) == 0 ||
        ry_tensor_count(y) == 0) {
        return false;
    }
    if (x->rank < 3 || !ry_window_has_sizes(problem)) {
        return false;
    }
    const ry_window window = ry_window_of(problem);
    const ry_window_axis *w = pool_along(&window);
    double offsets = 1;
    for (const ry_window_axis *axis = window.axis; axis < w; axis++) {
        offsets *= (double)axis->out * (double)ry_min(axis->taps, axis->in);
    }
    return offsets < MOST_OFFSETS && w->taps < WIDEST && w->dilation < WIDEST / w->taps &&
           w->stride < WIDEST && w->out < WIDEST / w->stride && w->pad < WIDEST;
}

bool ry_pool_applicable(const ry_problem *problem)
{
    return ry_problem_has_input(problem, 0) && ry_problem_has_output(problem, 0) &&
           plain_floats(problem) && window_fits(problem);
}

bool ry_pool_lanes_applicable(const ry_problem *problem)
{
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        plain_floats(problem) || !window_fits(problem)) {
        return false;
    }
    const ry_tensor *x = &problem->in[0], *index = &problem->out[1];
    if (ry_problem_has_output(problem, 1)) {
        return problem->attrs.pool.kind == RY_pool_kind_max && x->dtype != RYND_DTYPE_BOOL &&
               index->dtype == RYND_DTYPE_I64 && same_layout(index, &problem->out[0]) &&
               ry_tensor_count(x) / x->dim[0] / x->dim[1] <= INT32_MAX;
    }
    return problem->attrs.pool.kind == RY_pool_kind_max ? x->dtype != RYND_DTYPE_BOOL
                                                        : ry_dtype_is_float((ry_dtype)x->dtype);
}

/* How many positions of an axis's window at output `o` an average divides by. */
static int64_t counted(const pool_plan *s, const ry_window_axis *axis, int64_t o)
{
    const ry_window_range taps =
        s->include_pad ? ry_window_padded_taps(axis, o) : ry_window_taps(axis, o);
    return taps.end - taps.begin;
}

/* The taps of an output row; writes the input rows' offsets unless `offset` is NULL. */
static pool_row taps_of_row(const pool_plan *s, int64_t row, int64_t *offset)
{
    const ry_window *w = &s->window;
    pool_row t = {.count = 1, .divisor = 1};
    int64_t at[RY_MAX_RANK], count[RY_MAX_RANK];
    for (int i = w->rank - 2; i >= 0; i--) {
        const int64_t o = row % w->axis[i].out;
        const ry_window_range taps = ry_window_taps(&w->axis[i], o);
        row /= w->axis[i].out;
        at[i] = ry_window_at(&w->axis[i], o, taps.begin);
        count[i] = taps.end - taps.begin;
        t.count *= count[i];
        t.divisor *= counted(s, &w->axis[i], o);
    }
    for (int64_t k = 0; offset && k < t.count; k++) {
        int64_t step = pool_along(w)->in * (s->path >= POOL_CHANNELS ? s->channels : 1), rest = k;
        offset[k] = 0;
        for (int i = w->rank - 2; i >= 0; i--) {
            offset[k] += (at[i] + rest % count[i] * w->axis[i].dilation) * step;
            rest /= count[i];
            step *= w->axis[i].in;
        }
    }
    return t;
}

rynd_status ry_pool_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    pool_plan s;
    describe(query, &s);
    const size_t columns = (size_t)pool_along(&s.window)->out;
    size_t offsets = 0;
    for (int64_t row = 0; row < s.rows; row++) {
        offsets += (size_t)taps_of_row(&s, row, NULL).count;
    }
    prepared->phases = 1;
    prepared->tasks[0] = (size_t)ry_cut_parts(&s.units);
    prepared->state_size = sizeof s + (size_t)s.rows * sizeof(pool_row) +
                           columns * (sizeof(pool_column) + sizeof(float)) +
                           offsets * sizeof(int64_t);
    const bool half = query->problem->in[0].dtype != RYND_DTYPE_F32;
    const size_t row = s.path == POOL_ROWS && half ? columns : 0; /* a row for y in f32 */
    const int width = query->kernel->simd.width;
    const int64_t block =
        s.path == POOL_PLANES ? pool_block_in(&s, width) + pool_block_out(&s, width) : 0;
    prepared->scratch = s.path == POOL_CHANNELS && !s.separable
                            ? 0
                            : ry_aligned(((size_t)s.width + row + (size_t)block) * sizeof(float));
    ry_count_work(work_of(query, &s), ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

/* Vectors of joined rows, and positions with each tap along. */
static double byte_rows_work(const ry_query *query, const pool_plan *s, double taps_down)
{
    const struct ry_pool_costs *cost = &ry_costs_asked(query)->pool;
    const ry_window_axis *w = pool_along(&s->window);
    const double rows = (double)(s->planes / s->channels * s->rows);
    return rows * (taps_down * vectors(s->width, 4 * query->kernel->simd.width) * cost->load +
                   (double)(w->out * w->taps) * cost->pixel);
}

rynd_status ry_pool_lanes_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_pool_costs *cost = &ry_costs_asked(query)->pool;
    const ry_window window = ry_window_of(query->problem);
    const ry_window_axis *w = pool_along(&window);
    RY_TRY(ry_pool_prepare(query, prepared, error));
    pool_plan s;
    describe(query, &s);
    const size_t row = s.byte_rows ? ry_aligned((size_t)s.width) : 0,
                 values = (size_t)(w->in + 2 * w->out + 7) / 8 * 64;
    prepared->scratch = row > values ? row : values;
    double down = 1;
    for (const ry_window_axis *axis = window.axis; axis < w; axis++) {
        down *= (double)axis->taps;
    }
    const double out = (double)ry_tensor_count(&query->problem->out[0]),
                 work = s.byte_rows ? byte_rows_work(query, &s, down)
                                    : out * down * (double)w->taps * cost->lane;
    ry_count_work(work, ry_problem_bytes(query->problem), prepared);
    return RYND_OK;
}

void ry_pool_index_strides(const ry_problem *problem, const ry_window *window, int64_t *strides)
{
    const int rank = window->rank;
    int64_t step = 1;
    for (int k = 0; k < rank; k++) {
        const int i = problem->attrs.pool.storage_order ? k : rank - 1 - k;
        strides[i] = step;
        step *= window->axis[i].in;
    }
}

void ry_pool_initialise(const ry_query *query, void *state)
{
    pool_plan *plan = state;
    describe(query, plan);
    const ry_window_axis *w = pool_along(&plan->window);
    pool_row *row = (pool_row *)(void *)(plan + 1);
    pool_column *column = (pool_column *)(void *)(row + plan->rows);
    int64_t *offset = (int64_t *)(void *)(column + w->out), used = 0;
    for (int64_t o = 0; o < plan->rows; o++) {
        row[o] = taps_of_row(plan, o, offset + used);
        row[o].begin = used;
        used += row[o].count;
        plan->empty = plan->empty || row[o].count == 0;
    }
    plan->offsets = used;
    float *divisor = (float *)(void *)(offset + used);
    for (int64_t o = 0; o < w->out; o++) {
        const ry_window_range taps = ry_window_taps(w, o);
        column[o] =
            (pool_column){.first = ry_window_at(w, o, taps.begin), .count = taps.end - taps.begin};
        plan->empty = plan->empty || column[o].count == 0;
        divisor[o] = (float)counted(plan, w, o);
    }
}
