/* SPDX-License-Identifier: Apache-2.0 */
/* Max and average pooling, f32, 1 to 3 spatial dims and more.
 *
 * NCHW: separably, one output row at a time: the window's input rows are reduced into one row, padded left and right with what does not count, and
 * the output reduces that row's neighbours. A window that is the whole image is one sum (or maximum) over it.
 * NHWC: all channels of an output position at once. */
#include "kernels/common/window.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/lanes.h"
#include "kernels/cpu/common/simd.h"

#include <math.h>

/* Rows above and below of a window whose places are kept: 16 is a window of 16 rows, or of 4 x 4 in three dims. */
enum { KNOWN_ROWS = 16 };

/* No window of a network is as wide; beyond it the reduced row would take more memory than it is worth. */
enum { WIDEST = 1 << 22 };

typedef enum path { PATH_WHOLE, PATH_ROWS, PATH_CHANNELS } path;

typedef struct state {
    path path;
    bool maximum, include_pad;
    ry_window window;
    int64_t planes, channels;            /* images times channels; channels */
    int64_t in_size, out_size;           /* elements of an image's channel */
    int64_t rows, units, units_per_task; /* output rows of a plane; units: planes, rows or NHWC rows */
    int64_t width;                       /* PATH_ROWS: floats of the reduced row, padding included */
} state;

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

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
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
                 .out_size = 1};
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    int64_t taps = 1;
    for (int i = 0; i < w->rank; i++) {
        s->in_size *= w->in[i];
        s->out_size *= w->out[i];
        taps *= i < last ? w->taps[i] : 1;
    }
    s->rows = w->out[last] > 0 ? s->out_size / w->out[last] : 0;
    bool channels_last = !ry_tensor_is_row_major(x) || (x->dim[1] > 1 && x->stride[1] == 1 && s->in_size == 1);
    s->path = channels_last ? PATH_CHANNELS : covers_all(w) ? PATH_WHOLE : PATH_ROWS;
    int64_t row_bytes = 4 * taps * w->in[last];
    s->units = s->path == PATH_WHOLE ? s->planes : s->path == PATH_ROWS ? s->planes * s->rows : s->planes / s->channels * s->rows;
    s->units_per_task = ry_lanes_per_task(s->units, s->path == PATH_WHOLE  ? 4 * s->in_size
                                                    : s->path == PATH_ROWS ? row_bytes
                                                                           : row_bytes * s->channels);
    int64_t reach = (w->out[last] - 1) * w->stride[last] + (w->taps[last] - 1) * w->dilation[last] + 1;
    s->width = most(reach, w->pad[last] + w->in[last]) + 2 * RY_W;
}

static bool dense_f32(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 && (ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t));
}

static bool applicable(const ry_problem *problem)
{
    const ry_pool_attrs *a = &problem->attrs.pool;
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || ry_problem_has_output(problem, 1) || !dense_f32(x) ||
        !dense_f32(y) || ry_tensor_count(x) == 0 || ry_tensor_count(y) == 0 || a->kind == RY_pool_kind_lp) {
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
    return same_layout && w.taps[last] < WIDEST && w.dilation[last] < WIDEST / w.taps[last] && w.stride[last] < WIDEST &&
           w.out[last] < WIDEST / w.stride[last] && w.pad[last] < WIDEST;
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    state s;
    describe(problem, &s);
    prepared->phases = 1;
    prepared->tasks[0] = ry_lanes_tasks(s.units, s.units_per_task);
    prepared->state = sizeof s;
    prepared->scratch = s.path == PATH_ROWS ? (size_t)(s.width + 15) / 16 * 64 : 0;
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *memory)
{
    (void)prepared;
    describe(problem, memory);
}

/* NaN wins over every number. */
static inline float larger(float a, float b)
{
    float m = a > b ? a : b; /* b where b is NaN */
    return a != a ? a : m;
}

static void reduce_into(float *restrict y, const float *restrict x, int64_t n, bool maximum)
{
    if (maximum) {
        for (int64_t i = 0; i < n; i++) {
            y[i] = larger(y[i], x[i]);
        }
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] += x[i];
        }
    }
}

/* y[i] = the reduction of y[i] and x[i * step]; steps of 1, 2 and 3 have loops of their own that vectorise. */
static void reduce_steps(float *restrict y, const float *restrict x, int64_t n, int64_t step, bool maximum)
{
#define STEPS(step_value)                             \
    if (maximum) {                                    \
        for (int64_t i = 0; i < n; i++) {             \
            y[i] = larger(y[i], x[i * (step_value)]); \
        }                                             \
    } else {                                          \
        for (int64_t i = 0; i < n; i++) {             \
            y[i] += x[i * (step_value)];              \
        }                                             \
    }
    switch (step) {
    case 1: STEPS(1) break;
    case 2: STEPS(2) break;
    case 3: STEPS(3) break;
    default: STEPS(step) break;
    }
#undef STEPS
}

static float reduce_all(const float *x, int64_t n, bool maximum)
{
    float lanes[4 * RY_W], all = maximum ? -INFINITY : 0;
    int64_t i = 0;
    if (n >= 4 * RY_W) {
        memcpy(lanes, x, sizeof lanes);
        for (i = 4 * RY_W; i + 4 * RY_W <= n; i += 4 * RY_W) {
            reduce_into(lanes, x + i, 4 * RY_W, maximum);
        }
        for (int k = 0; k < 4 * RY_W; k++) {
            all = maximum ? larger(all, lanes[k]) : all + lanes[k];
        }
    }
    for (; i < n; i++) {
        all = maximum ? larger(all, x[i]) : all + x[i];
    }
    return all;
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

/* The dims before the last at one output row: which taps lie inside, and how many positions count. */
typedef struct outer_taps {
    int64_t at[RY_MAX_RANK], count[RY_MAX_RANK], total, divisor;
    int64_t row[KNOWN_ROWS]; /* outer_row of the first taps */
} outer_taps;

/* The offset in positions of the input row that tap `k` of the outer dims reads. */
static int64_t outer_row(const state *s, const outer_taps *t, int64_t k)
{
    const ry_window *w = &s->window;
    int64_t offset = 0, step = w->in[w->rank - 1];
    for (int i = w->rank - 2; i >= 0; i--) {
        offset += (t->at[i] + k % t->count[i] * w->dilation[i]) * step;
        k /= t->count[i];
        step *= w->in[i];
    }
    return offset;
}

static outer_taps outer_of(const state *s, int64_t row)
{
    const ry_window *w = &s->window;
    outer_taps t = {.total = 1, .divisor = 1};
    for (int i = w->rank - 2; i >= 0; i--) {
        int64_t o = row % w->out[i], begin, end;
        row /= w->out[i];
        ry_window_taps(w, i, o, &begin, &end);
        t.at[i] = ry_window_start(w, i, o) + begin * w->dilation[i];
        t.count[i] = end - begin;
        t.total *= t.count[i];
        t.divisor *= counted(s, i, o);
    }
    for (int64_t k = 0; k < t.total && k < KNOWN_ROWS; k++) {
        t.row[k] = outer_row(s, &t, k);
    }
    return t;
}

static void divide_row(const state *s, float *y, int64_t outer)
{
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    for (int64_t o = 0; o < w->out[last]; o++) {
        int64_t divisor = outer * counted(s, last, o);
        y[o] = divisor > 0 ? y[o] / (float)divisor : 0;
    }
}

static void fill(float *y, int64_t n, float value)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = value;
    }
}

/* An output row of NCHW. */
static void pool_row(const state *s, float *y, const float *plane, int64_t row, float *reduced)
{
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    const float nothing = s->maximum ? -INFINITY : 0;
    const int64_t left = w->pad[last], width = w->in[last];
    outer_taps t = outer_of(s, row);
    fill(reduced, left < s->width ? left : s->width, nothing);
    fill(reduced + left + width, s->width - left - width, nothing);
    if (t.total == 0) {
        fill(reduced + left, width, nothing);
    } else {
        memcpy(reduced + left, plane + outer_row(s, &t, 0), (size_t)width * sizeof *reduced);
    }
    for (int64_t k = 1; k < t.total; k++) {
        reduce_into(reduced + left, plane + outer_row(s, &t, k), width, s->maximum);
    }
    fill(y, w->out[last], nothing);
    for (int64_t k = 0; k < w->taps[last]; k++) {
        reduce_steps(y, reduced + k * w->dilation[last], w->out[last], w->stride[last], s->maximum);
    }
    if (!s->maximum) {
        divide_row(s, y, t.divisor);
    }
}

/* An output row of NHWC: a block of channels stays in registers while the taps pass. */
static void pool_position(const state *s, float *y, const float *image, const outer_taps *t, int64_t o)
{
    enum { BLOCK = 4 * RY_W };
    const ry_window *w = &s->window;
    const int last = w->rank - 1;
    int64_t begin, end, divisor = t->divisor * counted(s, last, o);
    ry_window_taps(w, last, o, &begin, &end);
    const int64_t start = ry_window_start(w, last, o);
    for (int64_t c = 0; c < s->channels; c += BLOCK) {
        int64_t n = s->channels - c < BLOCK ? s->channels - c : BLOCK;
        float sum[BLOCK];
        fill(sum, BLOCK, s->maximum ? -INFINITY : 0);
        for (int64_t k = 0; k < t->total; k++) {
            const float *from = image + (k < KNOWN_ROWS ? t->row[k] : outer_row(s, t, k)) * s->channels + c;
            for (int64_t j = begin; j < end; j++) {
                reduce_into(sum, from + (start + j * w->dilation[last]) * s->channels, n, s->maximum);
            }
        }
        for (int64_t i = 0; i < n; i++) {
            y[c + i] = s->maximum ? sum[i] : divisor > 0 ? sum[i] / (float)divisor : 0;
        }
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const state *s = launch->state;
    const float *x = launch->in[0];
    float *y = launch->out[0], *scratch = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    const int64_t out_width = s->window.out[s->window.rank - 1];
    int64_t first = (int64_t)task * s->units_per_task, end = first + s->units_per_task < s->units ? first + s->units_per_task : s->units;
    for (int64_t unit = first; unit < end; unit++) {
        int64_t plane = unit / s->rows, row = unit % s->rows;
        if (s->path == PATH_WHOLE) {
            float all = reduce_all(x + unit * s->in_size, s->in_size, s->maximum);
            outer_taps t = outer_of(s, 0);
            y[unit] = s->maximum ? all : all / (float)(t.divisor * counted(s, s->window.rank - 1, 0));
        } else if (s->path == PATH_ROWS) {
            pool_row(s, y + unit * out_width, x + plane * s->in_size, row, scratch);
        } else {
            outer_taps t = outer_of(s, row);
            for (int64_t o = 0; o < out_width; o++) {
                pool_position(s, y + (unit * out_width + o) * s->channels, x + plane * s->in_size * s->channels, &t, o);
            }
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
