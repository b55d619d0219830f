/* SPDX-License-Identifier: Apache-2.0 */
/* Max and average pooling, computed in f32, 1 to 3 spatial dims and more.
 *
 * NCHW: separably, one output row at a time: the window's input rows are reduced into one row, padded left and right with what does not count, and
 * the output reduces that row's neighbours. A window that is the whole image is one sum (or maximum) over it.
 * NHWC: all channels of an output position at once.
 * Planes of f16 and bf16 are converted in scratch memory (NCHW only). */
#include "base/whole.h"
#include "kernels/common/window.h"
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/half_rows.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"

#include <math.h>

/* No window of a network is as wide; beyond it the reduced row and the tables would take more memory than they are worth. */
enum { WIDEST = 1 << 22 };

typedef enum path { PATH_WHOLE, PATH_ROWS, PATH_CHANNELS } path;

/* An output row (all spatial dims but the last): input rows offset[begin ..] in positions of a plane, and how many positions an average counts. */
typedef struct row_taps {
    int64_t begin, count, divisor;
} row_taps;

/* An output position of the last dim: its taps inside the input. */
typedef struct column_taps {
    int64_t first, count; /* first: the input position of the first */
} column_taps;

/* The state: this, then row_taps, column_taps, offsets, and how many columns an average counts (a float for each output position). */
typedef struct state {
    path path;
    bool maximum, include_pad, convert; /* convert: a unit is a plane, which scratch holds as f32 */
    ry_window window;
    int64_t planes, channels;            /* images times channels; channels */
    int64_t in_size;                     /* elements of a plane of the input */
    int64_t rows, units, units_per_task; /* output rows of a plane; units: planes, rows or NHWC rows */
    int64_t width;                       /* PATH_ROWS: floats of the reduced row, padding included */
    int64_t offsets;                     /* how many */
} state;

static const row_taps *rows_of(const state *s)
{
    return (const row_taps *)(const void *)(s + 1);
}

static const column_taps *columns_of(const state *s)
{
    return (const column_taps *)(const void *)(rows_of(s) + s->rows);
}

static const int64_t *offsets_of(const state *s)
{
    return (const int64_t *)(const void *)(columns_of(s) + s->window.out[s->window.rank - 1]);
}

static const float *divisors_of(const state *s)
{
    return (const float *)(const void *)(offsets_of(s) + s->offsets);
}

static ry_window window_of(const ry_problem *p)
{
    const ry_pool_attrs *a = &p->attrs.pool;
    return ry_window_make(&p->in[0], &p->out[0], a->kernel.at, &a->stride, &a->dilation, &a->pads);
}

static bool covers_all(const ry_window *w)
{
    for (int i = 0; i < w->rank; i++) {
        if (w->out[i] != 1 || w->taps[i] != w->in[i] || w->dilation[i] != 1 || w->pad[i] != 0) {
            return false;
        }
    }
    return true;
}

static void describe(const ry_problem *problem, state *s)
{
    const ry_tensor *x = &problem->in[0];
    *s = (state){.maximum = problem->attrs.pool.kind == RY_pool_kind_max,
                 .include_pad = problem->attrs.pool.count_include_pad != 0,
                 .window = window_of(problem),
                 .planes = x->dim[0] * x->dim[1],
                 .channels = x->dim[1],
                 .in_size = 1,
                 .rows = 1};
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    int64_t taps = 1;
    for (int i = 0; i < w->rank; i++) {
        s->in_size *= w->in[i];
        s->rows *= i < last ? w->out[i] : 1;
        taps *= i < last ? w->taps[i] : 1;
    }
    s->path = !ry_tensor_is_row_major(x) ? PATH_CHANNELS : covers_all(w) ? PATH_WHOLE : PATH_ROWS;
    int64_t row_bytes = 4 * taps * w->in[last];
    s->convert = x->dtype != RYND_DTYPE_F32;
    s->units = s->path == PATH_WHOLE || s->convert ? s->planes
               : s->path == PATH_ROWS              ? s->planes * s->rows
                                                   : s->planes / s->channels * s->rows;
    s->units_per_task = ry_lanes_per_task(s->units, s->path == PATH_WHOLE || s->convert ? 4 * s->in_size
                                                    : s->path == PATH_ROWS              ? row_bytes
                                                                                        : row_bytes * s->channels);
    int64_t reach = (w->out[last] - 1) * w->stride[last] + (w->taps[last] - 1) * w->dilation[last] + 1;
    s->width = ry_most(reach, w->pad[last] + w->in[last]) + 2 * RY_W;
}

static bool dense(const ry_tensor *t)
{
    return ry_row_dtype(t->dtype) && (ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t));
}

static bool applicable(const ry_problem *problem)
{
    const ry_pool_attrs *a = &problem->attrs.pool;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || ry_problem_has_output(problem, 1) || !dense(x) ||
        !dense(y) || x->dtype != y->dtype || ry_tensor_count(x) == 0 || ry_tensor_count(y) == 0 || a->kind == RY_pool_kind_lp) {
        return false;
    }
    bool same_layout =
        (ry_tensor_is_row_major(x) && ry_tensor_is_row_major(y)) || (ry_tensor_is_channels_last(x) && ry_tensor_is_channels_last(y));
    for (int i = 0; i < a->pads.count; i++) {
        if (a->pads.at[i] < 0) {
            return false;
        }
    }
    if (x->rank < 3 || a->kernel.count != x->rank - 2) {
        return false;
    }
    ry_window w = window_of(problem);
    const int last = w.rank - 1;
    double offsets = 1;
    for (int i = 0; i < last; i++) {
        offsets *= (double)w.out[i] * (double)(w.taps[i] < w.in[i] ? w.taps[i] : w.in[i]);
    }
    bool small = x->dtype == RYND_DTYPE_F32 || (ry_tensor_is_row_major(x) && ry_tensor_count(x) / x->dim[0] / x->dim[1] < WIDEST);
    return offsets < WIDEST && small && same_layout && w.taps[last] < WIDEST && w.dilation[last] < WIDEST / w.taps[last] &&
           w.stride[last] < WIDEST && w.out[last] < WIDEST / w.stride[last] && w.pad[last] < WIDEST;
}

/* How many positions of dim `i`'s window at output `o` an average divides by. */
static int64_t counted(const state *s, int i, int64_t o)
{
    const ry_window *w = &s->window;
    if (!s->include_pad) {
        int64_t begin, end;
        ry_window_taps(w, i, o, &begin, &end);
        return end - begin;
    }
    int64_t room = w->in[i] + w->pad_end[i] - 1 - ry_window_start(w, i, o);
    return ry_clamp(ry_floor_div(room, w->dilation[i]) + 1, 0, w->taps[i]);
}

/* The taps of an output row; writes the input rows' offsets unless `offset` is NULL. */
static row_taps taps_of_row(const state *s, int64_t row, int64_t *offset)
{
    const ry_window *w = &s->window;
    row_taps t = {.count = 1, .divisor = 1};
    int64_t at[RY_MAX_RANK], count[RY_MAX_RANK];
    for (int i = w->rank - 2; i >= 0; i--) {
        int64_t o = row % w->out[i], begin, end;
        row /= w->out[i];
        ry_window_taps(w, i, o, &begin, &end);
        at[i] = ry_window_start(w, i, o) + begin * w->dilation[i];
        count[i] = end - begin;
        t.count *= count[i];
        t.divisor *= counted(s, i, o);
    }
    for (int64_t k = 0; offset && k < t.count; k++) {
        int64_t step = w->in[w->rank - 1], rest = k;
        offset[k] = 0;
        for (int i = w->rank - 2; i >= 0; i--) {
            offset[k] += (at[i] + rest % count[i] * w->dilation[i]) * step;
            rest /= count[i];
            step *= w->in[i];
        }
    }
    return t;
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    state s;
    describe(problem, &s);
    size_t offsets = 0;
    for (int64_t row = 0; row < s.rows; row++) {
        offsets += (size_t)taps_of_row(&s, row, NULL).count;
    }
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.units, s.units_per_task);
    prepared->state = sizeof s + (size_t)s.rows * sizeof(row_taps) + (size_t)s.window.out[s.window.rank - 1] * sizeof(column_taps) +
                      offsets * sizeof(int64_t) + (size_t)s.window.out[s.window.rank - 1] * sizeof(float);
    int64_t converted = s.convert ? s.in_size + s.rows * s.window.out[s.window.rank - 1] : 0;
    prepared->scratch = s.path == PATH_CHANNELS ? 0 : (size_t)(s.width + converted + 15) / 16 * 64;
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *memory)
{
    (void)prepared;
    state *s = memory;
    describe(problem, s);
    const int last = s->window.rank - 1;
    row_taps *row = (row_taps *)(void *)(s + 1);
    column_taps *column = (column_taps *)(void *)(row + s->rows);
    int64_t *offset = (int64_t *)(void *)(column + s->window.out[last]), used = 0;
    for (int64_t o = 0; o < s->rows; o++) {
        row[o] = taps_of_row(s, o, offset + used);
        row[o].begin = used;
        used += row[o].count;
    }
    s->offsets = used;
    float *divisor = (float *)(void *)(offset + used);
    for (int64_t o = 0; o < s->window.out[last]; o++) {
        int64_t begin, end;
        ry_window_taps(&s->window, last, o, &begin, &end);
        column[o] = (column_taps){.first = ry_window_start(&s->window, last, o) + begin * s->window.dilation[last], .count = end - begin};
        divisor[o] = (float)counted(s, last, o);
    }
}

/* NaN wins over every number. */
RY_INLINE float larger(float a, float b)
{
    float m = a > b ? a : b; /* b where b is NaN */
    return a != a ? a : m;
}

/* Each of the two is the second operand where one is NaN: bits of both make a NaN. Equal numbers stay what they are. */
RY_INLINE ry_vf larger_vector(ry_vf a, ry_vf b)
{
    return ry_vf_or(ry_vf_max(a, b), ry_vf_max(b, a));
}

RY_INLINE float join(float a, float b, bool maximum)
{
    return maximum ? larger(a, b) : a + b;
}

/* The loops below are inlined with `maximum` (and the step) as constants. */
RY_INLINE void join_rows(float *restrict y, const float *restrict plane, const int64_t *offset, int64_t count, int64_t n, bool maximum)
{
    const float *restrict a = plane + offset[0], *restrict b = plane + offset[count > 1 ? 1 : 0],
                          *restrict c = plane + offset[count > 2 ? 2 : 0];
    if (count == 1) {
        memcpy(y, a, (size_t)n * sizeof *y);
    } else if (count == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(a[i], b[i], maximum);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(join(a[i], b[i], maximum), c[i], maximum);
        }
    }
    for (int64_t k = 3; k < count; k++) {
        const float *restrict x = plane + offset[k];
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(y[i], x[i], maximum);
        }
    }
}

RY_INLINE void join_columns(float *restrict y, const float *restrict x, int64_t n, int64_t taps, int64_t apart, int64_t step, bool maximum)
{
    if (taps == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(x[i * step], x[i * step + apart], maximum);
        }
    } else if (taps == 3) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = join(join(x[i * step], x[i * step + apart], maximum), x[i * step + 2 * apart], maximum);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = x[i * step];
        }
        for (int64_t k = 1; k < taps; k++) {
            const float *restrict from = x + k * apart;
            for (int64_t i = 0; i < n; i++) {
                y[i] = join(y[i], from[i * step], maximum);
            }
        }
    }
}

RY_INLINE void join_steps(float *y, const float *x, const ry_window *w, int last, bool maximum)
{
    const int64_t n = w->out[last], taps = w->taps[last], apart = w->dilation[last];
    switch (w->stride[last]) {
    case 1: join_columns(y, x, n, taps, apart, 1, maximum); break;
    case 2: join_columns(y, x, n, taps, apart, 2, maximum); break;
    default: join_columns(y, x, n, taps, apart, w->stride[last], maximum); break;
    }
}

RY_INLINE float join_all(const float *x, int64_t n, bool maximum)
{
    float lanes[RY_W], all = maximum ? -INFINITY : 0;
    int64_t i = 0;
    if (n >= RY_W) {
        ry_vf v = ry_vf_load(x);
        for (i = RY_W; i + RY_W <= n; i += RY_W) {
            v = maximum ? larger_vector(v, ry_vf_load(x + i)) : ry_vf_add(v, ry_vf_load(x + i));
        }
        ry_vf_store(lanes, v);
        for (int k = 0; k < RY_W; k++) {
            all = join(all, lanes[k], maximum);
        }
    }
    for (; i < n; i++) {
        all = join(all, x[i], maximum);
    }
    return all;
}

static void fill(float *y, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

/* Windows that lie in padding alone count nothing: 0. */
static void divide_row(const state *s, float *restrict y, int64_t outer)
{
    const float *restrict divisor = divisors_of(s);
    const float rows = (float)outer;
    for (int64_t o = 0; o < s->window.out[s->window.rank - 1]; o++) {
        float d = rows * divisor[o];
        y[o] = y[o] / (d > 0 ? d : 1);
    }
}

/* An output row of NCHW; the padding of `reduced` is there already. */
static void pool_row(const state *s, float *y, const float *plane, int64_t row, float *reduced)
{
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    const row_taps *t = rows_of(s) + row;
    const int64_t *offset = offsets_of(s) + t->begin;
    float *inside = reduced + w->pad[last];
    if (t->count == 0) {
        fill(inside, w->in[last], s->maximum ? -INFINITY : 0);
    } else if (s->maximum) {
        join_rows(inside, plane, offset, t->count, w->in[last], true);
    } else {
        join_rows(inside, plane, offset, t->count, w->in[last], false);
    }
    if (s->maximum) {
        join_steps(y, reduced, w, last, true);
    } else {
        join_steps(y, reduced, w, last, false);
        divide_row(s, y, t->divisor);
    }
}

/* An output position of NHWC: `count` channels, which fill four vectors or are the rest. */
RY_INLINE void pool_channels(const state *s, float *y, const float *image, const row_taps *t, int64_t o, int64_t count, bool maximum)
{
    enum { BLOCK = 4 * RY_W };
    const int64_t apart = s->window.dilation[s->window.rank - 1] * s->channels;
    const float divisor = (float)t->divisor * divisors_of(s)[o];
    const column_taps *column = columns_of(s) + o;
    const int64_t *offset = offsets_of(s) + t->begin;
    float sum[BLOCK];
    fill(sum, BLOCK, maximum ? -INFINITY : 0);
    for (int64_t k = 0; k < t->count; k++) {
        const float *restrict x = image + (offset[k] + column->first) * s->channels;
        for (int64_t j = 0; j < column->count; j++, x += apart) {
            for (int64_t i = 0; i < count; i++) {
                sum[i] = join(sum[i], x[i], maximum);
            }
        }
    }
    for (int64_t i = 0; i < count; i++) {
        y[i] = maximum ? sum[i] : sum[i] / (divisor > 0 ? divisor : 1);
    }
}

static void pool_position(const state *s, float *y, const float *image, const row_taps *t, int64_t o)
{
    enum { BLOCK = 4 * RY_W };
    for (int64_t c = 0; c < s->channels; c += BLOCK) {
        if (c + BLOCK <= s->channels && s->maximum) {
            pool_channels(s, y + c, image + c, t, o, BLOCK, true);
        } else if (c + BLOCK <= s->channels) {
            pool_channels(s, y + c, image + c, t, o, BLOCK, false);
        } else {
            pool_channels(s, y + c, image + c, t, o, s->channels - c, s->maximum);
        }
    }
}

static float pool_whole(const state *s, const float *plane)
{
    float divisor = (float)rows_of(s)->divisor * divisors_of(s)[0];
    return s->maximum ? join_all(plane, s->in_size, true) : join_all(plane, s->in_size, false) / divisor;
}

/* Planes of another type than f32: scratch holds the plane and its result behind the reduced row. */
static void pool_converted(const ry_cpu_launch *launch, const state *s, int64_t plane, float *reduced)
{
    const rynd_dtype dtype = launch->problem->in[0].dtype;
    const int64_t out_width = s->window.out[s->window.rank - 1], out_size = s->rows * out_width;
    float *x = reduced + s->width, *y = x + s->in_size;
    ry_row_load(dtype, x, launch->in[0], plane * s->in_size, s->in_size);
    if (s->path == PATH_WHOLE) {
        *y = pool_whole(s, x);
    }
    for (int64_t row = 0; s->path == PATH_ROWS && row < s->rows; row++) {
        pool_row(s, y + row * out_width, x, row, reduced);
    }
    ry_row_store(dtype, launch->out[0], plane * out_size, y, out_size);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const state *s = launch->state;
    const ry_window *w = &s->window;
    const int64_t out_width = w->out[w->rank - 1], inside = w->pad[w->rank - 1] + w->in[w->rank - 1];
    const float *x = launch->in[0];
    float *y = launch->out[0], *reduced = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    if (s->path == PATH_ROWS) {
        fill(reduced, w->pad[w->rank - 1], s->maximum ? -INFINITY : 0);
        fill(reduced + inside, s->width - inside, s->maximum ? -INFINITY : 0);
    }
    int64_t first = (int64_t)task * s->units_per_task, end = first + s->units_per_task < s->units ? first + s->units_per_task : s->units;
    int64_t plane = first / s->rows, row = first % s->rows;
    for (int64_t unit = first; unit < end; unit++) {
        if (s->convert) {
            pool_converted(launch, s, unit, reduced);
        } else if (s->path == PATH_WHOLE) {
            y[unit] = pool_whole(s, x + unit * s->in_size);
        } else if (s->path == PATH_ROWS) {
            pool_row(s, y + unit * out_width, x + plane * s->in_size, row, reduced);
        } else {
            for (int64_t o = 0; o < out_width; o++) {
                pool_position(s, y + (unit * out_width + o) * s->channels, x + plane * s->in_size * s->channels, rows_of(s) + row, o);
            }
        }
        if (++row == s->rows) {
            row = 0;
            plane++;
        }
    }
}

const ry_kernel RY_ISA_SYMBOL(pool_f32) = {
    .name = "pool_f32_" RY_ISA_TEXT,
    .op = RY_OP_pool,
    .device = "cpu",
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .rank = 20 + RY_ISA_ID,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
