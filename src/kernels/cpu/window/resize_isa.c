/* SPDX-License-Identifier: Apache-2.0 */
/* Resize of one or two spatial dims, f32: nearest, linear and cubic in every coordinate mode but tf_crop_and_resize, with or without antialiasing.
 *
 * Separable: input rows are resized horizontally, then an output row is a weighted sum of those. The few rows that a window of rows shares with the next are
 * kept in a ring (row i in slot i % taps). Memory is seen as [outer][height][width][inner]: inner is 1 for NCHW and the channels for NHWC. A tap of
 * weight 0 counts as a product: an infinity beside it gives NaN. */
#include "kernels/common/resize_map.h"
#include "kernels/cpu/common/dense_lanes.h"
#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"

#include <string.h>

/* Taps that are kept in a ring; wider (antialiasing) windows overlap too little for it. */
enum { RING = 4 };

/* Enlargements that have loops of their own. */
enum { MOST_PERIOD = 4 };

/* One axis's table: for output o, input first[o] + j has the weight w(j, o) = weight[j * step_tap + o * step_out]. */
typedef struct axis_table {
    int64_t in, out, taps, repeat; /* repeat: every input position fills that many outputs in turn; 0: no such pattern */
    bool plain;                    /* one tap of weight 1 */
    int64_t period, begin, end;    /* outputs [begin, end), by periods: the same weights, one input further each; 0: no such pattern */
    size_t first, weight, spare;   /* offsets in the state, in bytes: int32_t, float, and a row of double for filling the table */
    int64_t step_tap, step_out;
} axis_table;

typedef struct state {
    axis_table height, width;
    int64_t outer, inner, rows_per_task, tasks_per_plane;
} state;

/* The dims of height (-1: none) and width. */
static void spatial_dims(const ry_problem *problem, int *height, int *width)
{
    const ry_tensor *x = &problem->in[0];
    bool last = !ry_tensor_is_row_major(x);
    *width = x->rank - 1;
    *height = x->rank - 2 >= (last ? 2 : 0) ? x->rank - 2 : -1;
}

static ry_resize_axis axis_of(const ry_problem *problem, int dim)
{
    ry_resize_axis axis;
    ry_resize_axis_make(problem, dim, &axis);
    return axis;
}

/* Every position is its own source. */
static bool keeps(const ry_resize_axis *axis)
{
    double weight;
    int64_t first = 0;
    bool same = ry_resize_axis_is_identity(axis) || (axis->mode == RY_resize_mode_nearest && axis->in == axis->out);
    for (int64_t o = 0; same && o < axis->out && !ry_resize_axis_is_identity(axis); o++) {
        same = ry_resize_taps(axis, o, &first, &weight) == 1 && first == o;
    }
    return same;
}

static bool dense_f32(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 && (ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t));
}

static bool applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || !dense_f32(x) || !dense_f32(y) || x->rank < 1 ||
        x->rank != y->rank || ry_tensor_count(x) == 0 || ry_tensor_count(y) == 0 ||
        problem->attrs.resize.coordinates == RY_resize_coordinates_tf_crop_and_resize) {
        return false;
    }
    int height, width;
    spatial_dims(problem, &height, &width);
    for (int i = 0; i < x->rank; i++) {
        ry_resize_axis axis = axis_of(problem, i);
        if ((i != height && i != width && !keeps(&axis)) || axis.in > INT32_MAX || ry_resize_max_taps(&axis) > INT32_MAX) {
            return false;
        }
    }
    return ry_tensor_is_row_major(x) ? ry_tensor_is_row_major(y) : ry_tensor_is_channels_last(y);
}

/* What ry_resize_max_taps gives is a bound; linear and cubic without antialiasing need one tap less. */
static int64_t most_taps(const ry_resize_axis *axis)
{
    enum { FEW = 8 };
    double weight[FEW];
    int64_t bound = ry_resize_max_taps(axis), most = 1, first;
    if (bound > FEW) {
        return bound;
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t count = ry_resize_taps(axis, o, &first, weight);
        most = count > most ? count : most;
    }
    return most;
}

/* Describes an axis whose table begins `*bytes` into the state, and adds the table's size; false when that is beyond memory. */
static bool describe_axis(const ry_problem *problem, int dim, bool by_tap, size_t *bytes, axis_table *t)
{
    *t = (axis_table){.in = 1, .out = 1, .taps = 1, .first = *bytes};
    if (dim >= 0) {
        ry_resize_axis axis = axis_of(problem, dim);
        t->in = axis.in;
        t->out = axis.out;
        t->taps = most_taps(&axis);
    }
    t->step_tap = by_tap ? t->out : 1;
    t->step_out = by_tap ? 1 : t->taps;
    const size_t limit = SIZE_MAX / 32, out = (size_t)t->out, taps = (size_t)t->taps;
    size_t numbers;
    if (!ry_mul_size(out, taps, &numbers) || numbers > limit || taps > limit || *bytes > limit) {
        return false;
    }
    t->weight = t->first + (out * sizeof(int32_t) + 7) / 8 * 8;
    t->spare = t->weight + (numbers * sizeof(float) + 7) / 8 * 8;
    *bytes = t->spare + taps * sizeof(double);
    return true;
}

static bool describe(const ry_problem *problem, state *s, size_t *bytes)
{
    const ry_tensor *x = &problem->in[0];
    int height, width;
    spatial_dims(problem, &height, &width);
    *s = (state){.outer = 1, .inner = ry_tensor_is_row_major(x) ? 1 : x->dim[1]};
    for (int i = 0; i < x->rank; i++) {
        s->outer *= i == height || i == width || (i == 1 && !ry_tensor_is_row_major(x)) ? 1 : x->dim[i];
    }
    *bytes = sizeof *s;
    if (!describe_axis(problem, height, false, bytes, &s->height) || !describe_axis(problem, width, s->inner == 1, bytes, &s->width)) {
        return false;
    }
    s->rows_per_task = ry_lanes_per_task(s->height.out, 4 * s->width.out * s->inner);
    s->tasks_per_plane = (s->height.out + s->rows_per_task - 1) / s->rows_per_task;
    return true;
}

/* At a core's peak, as measured on Zen 4: a row of floats costs its start and its taps, a pixel of channels its start and the taps of whole vectors. */
static double work_of(const state *s)
{
    enum { ROW = 1000, ELEMENT = 8, PIXEL = 320, VECTOR = 80, LANES = 16 };
    const double rows = (double)s->outer * (double)s->height.out, pixels = rows * (double)s->width.out;
    const double taps = (double)(s->height.taps + s->width.taps);
    const double vectors = (double)((s->inner + LANES - 1) / LANES);
    return s->inner == 1 ? rows * ROW + pixels * ELEMENT * taps / 2 : pixels * (PIXEL + VECTOR * taps * vectors);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    state s;
    if (!describe(problem, &s, &prepared->state_size)) {
        return ry_fail_memory(error);
    }
    prepared->phases = 1;
    prepared->work = work_of(&s);
    prepared->tasks[0] = (size_t)(s.outer * s.tasks_per_plane);
    int64_t rows = s.height.taps <= RING ? s.height.taps : 1;
    size_t row = (size_t)(s.width.out * s.inner + 15) / 16 * 64;
    if (!ry_mul_size(row, (size_t)rows, &prepared->scratch)) {
        return ry_fail_memory(error);
    }
    return RYND_OK;
}

/* Fills a table. A window that would pass the end of the input moves back, and its weights forward: all `taps` elements can then be read. */
static void fill_axis(const ry_problem *problem, int dim, char *state_bytes, axis_table *t)
{
    int32_t *first = (int32_t *)(void *)(state_bytes + t->first);
    float *weight = (float *)(void *)(state_bytes + t->weight);
    double *found = (double *)(void *)(state_bytes + t->spare);
    ry_resize_axis axis = axis_of(problem, dim >= 0 ? dim : 0);
    t->plain = t->taps == 1;
    t->repeat = t->out % t->in == 0 ? t->out / t->in : 0;
    for (int64_t o = 0; o < t->out; o++) {
        int64_t from = 0, count = 1;
        if (dim >= 0) {
            count = ry_resize_taps(&axis, o, &from, found);
        } else {
            found[0] = 1;
        }
        int64_t back = from + t->taps > t->in ? from + t->taps - t->in : 0;
        first[o] = (int32_t)(from - back);
        for (int64_t j = t->taps - 1; j >= 0; j--) {
            double w = j >= back && j - back < count ? found[j - back] : 0;
            t->plain = t->plain && w == 1;
            weight[j * t->step_tap + o * t->step_out] = (float)w;
        }
        t->repeat = t->plain && first[o] == (t->repeat ? o / t->repeat : -1) ? t->repeat : 0;
    }
}

/* Enlarging by a whole number makes a pattern that repeats, apart from the edges: from one middle period it is followed both ways. */
static void find_period(const char *state_bytes, axis_table *t)
{
    const int32_t *first = (const int32_t *)(const void *)(state_bytes + t->first);
    const float *weight = (const float *)(const void *)(state_bytes + t->weight);
    const int64_t p = t->out % t->in == 0 ? t->out / t->in : 0, middle = p ? t->in / 2 * p : 0;
    t->period = p > 1 && p <= MOST_PERIOD && t->in >= 4 && !t->plain ? p : 0;
    if (t->period == 0) {
        return;
    }
    t->begin = t->end = middle;
    for (int way = -1; way <= 1; way += 2) {
        for (int64_t o = way < 0 ? middle - 1 : middle; o >= 0 && o < t->out; o += way) {
            int64_t like = middle + (o % p), further = o / p - middle / p;
            bool same = first[o] == first[like] + further;
            for (int64_t j = 0; same && j < t->taps; j++) {
                same = weight[j * t->step_tap + o * t->step_out] == weight[j * t->step_tap + like * t->step_out];
            }
            if (!same) {
                break;
            }
            *(way < 0 ? &t->begin : &t->end) = way < 0 ? o : o + 1;
        }
    }
    t->begin = (t->begin + p - 1) / p * p;
    t->end = t->end / p * p;
    t->period = t->begin < t->end ? p : 0;
}

static void initialise(const ry_query *query, const ry_prepared *prepared, void *memory)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    size_t bytes;
    int height, width;
    state *s = memory;
    describe(problem, s, &bytes);
    spatial_dims(problem, &height, &width);
    fill_axis(problem, height, memory, &s->height);
    fill_axis(problem, width, memory, &s->width);
    find_period(memory, &s->width);
}

static const int32_t *firsts(const state *s, const axis_table *t)
{
    return (const int32_t *)(const void *)((const char *)s + t->first);
}

static const float *weights(const state *s, const axis_table *t)
{
    return (const float *)(const void *)((const char *)s + t->weight);
}

static void repeat_row(float *restrict y, const float *restrict x, int64_t n, int64_t times)
{
    if (times == 1) {
        memcpy(y, x, (size_t)n * sizeof *y);
        return;
    }
    if (times == 2) {
        for (int64_t i = 0; i < n; i++) {
            y[2 * i] = x[i];
            y[2 * i + 1] = x[i];
        }
        return;
    }
    for (int64_t i = 0; i < n; i++) {
        for (int64_t k = 0; k < times; k++) {
            y[i * times + k] = x[i];
        }
    }
}

/* Outputs [begin, end) by the table: gathers, which compilers vectorise where the machine can. */
static void resize_part(const state *s, float *restrict y, const float *restrict x, int64_t begin, int64_t end)
{
    const axis_table *t = &s->width;
    const int64_t n = t->out;
    const int32_t *restrict first = firsts(s, t);
    const float *restrict w = weights(s, t);
    if (t->taps == 2) {
        for (int64_t o = begin; o < end; o++) {
            y[o] = w[o] * x[first[o]] + w[n + o] * x[first[o] + 1];
        }
        return;
    }
    for (int64_t o = begin; o < end; o++) {
        y[o] = w[o] * x[first[o]];
    }
    for (int64_t j = 1; j < t->taps; j++) {
        for (int64_t o = begin; o < end; o++) {
            y[o] += w[j * n + o] * x[first[o] + j];
        }
    }
}

/* The repeating outputs: loads side by side and interleaved stores. Inlined with constant taps and period. */
RY_INLINE void resize_period(const state *s, float *restrict y, const float *restrict x, int taps, int period)
{
    const axis_table *t = &s->width;
    const int32_t *first = firsts(s, t) + t->begin;
    const float *from[MOST_PERIOD];
    float w[MOST_PERIOD][RING];
    for (int p = 0; p < period; p++) {
        from[p] = x + first[p];
        for (int j = 0; j < taps; j++) {
            w[p][j] = weights(s, t)[j * t->out + t->begin + p];
        }
    }
    y += t->begin;
    const int64_t count = (t->end - t->begin) / period;
    for (int64_t i = 0; i < count; i++) {
#pragma GCC unroll 4
        for (int p = 0; p < period; p++) {
            float sum = w[p][0] * from[p][i];
#pragma GCC unroll 4
            for (int j = 1; j < taps; j++) {
                sum += w[p][j] * from[p][i + j];
            }
            y[i * period + p] = sum;
        }
    }
}

/* A row of single floats. */
static void resize_row(const state *s, float *restrict y, const float *restrict x)
{
    const axis_table *t = &s->width;
    if (t->repeat > 0) {
        repeat_row(y, x, t->in, t->repeat);
        return;
    }
    if (t->plain) {
        const int32_t *restrict first = firsts(s, t);
        for (int64_t o = 0; o < t->out; o++) {
            y[o] = x[first[o]];
        }
        return;
    }
    switch (t->period * (t->taps == 2 || t->taps == 4 ? 10 : 0) + t->taps) {
    case 22: resize_period(s, y, x, 2, 2); break;
    case 32: resize_period(s, y, x, 2, 3); break;
    case 42: resize_period(s, y, x, 2, 4); break;
    case 24: resize_period(s, y, x, 4, 2); break;
    case 34: resize_period(s, y, x, 4, 3); break;
    case 44: resize_period(s, y, x, 4, 4); break;
    default: resize_part(s, y, x, 0, t->out); return;
    }
    resize_part(s, y, x, 0, t->begin);
    resize_part(s, y, x, t->end, t->out);
}

static void scale_into(float *restrict y, const float *restrict x, int64_t n, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = w * x[i];
    }
}

static void add_scaled(float *restrict y, const float *restrict x, int64_t n, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] += w * x[i];
    }
}

static void blend(float *restrict y, const float *restrict a, const float *restrict b, int64_t n, float v, float w)
{
    for (int64_t i = 0; i < n; i++) {
        y[i] = v * a[i] + w * b[i];
    }
}

static void blend_four(float *restrict y, const float *const *x, int64_t n, const float *w)
{
    const float *restrict a = x[0], *restrict b = x[1], *restrict c = x[2], *restrict d = x[3];
    const float u = w[0], v = w[1], s = w[2], t = w[3];
    for (int64_t i = 0; i < n; i++) {
        y[i] = u * a[i] + v * b[i] + (s * c[i] + t * d[i]);
    }
}

/* A row of pixels of `inner` floats. */
static void resize_pixels(const state *s, float *y, const float *x)
{
    const axis_table *t = &s->width;
    const int64_t n = s->inner;
    for (int64_t o = 0; o < t->out; o++) {
        const float *from = x + firsts(s, t)[o] * n, *w = weights(s, t) + o * t->taps;
        float *to = y + o * n;
        if (t->plain) {
            memcpy(to, from, (size_t)n * sizeof *to);
        } else if (t->taps == 2) {
            blend(to, from, from + n, n, w[0], w[1]);
        } else if (t->taps == 4) {
            blend_four(to, (const float *[]){from, from + n, from + 2 * n, from + 3 * n}, n, w);
        } else {
            scale_into(to, from, n, w[0]);
            for (int64_t j = 1; j < t->taps; j++) {
                add_scaled(to, from + j * n, n, w[j]);
            }
        }
    }
}

static void resize_width(const state *s, float *y, const float *x)
{
    if (s->inner == 1) {
        resize_row(s, y, x);
    } else {
        resize_pixels(s, y, x);
    }
}

/* The weighted sum of resized rows, each made when it is needed. */
static void output_row(const state *s, const float *plane, int64_t o, float *y, float *ring, int64_t *held)
{
    const axis_table *t = &s->height;
    const int64_t n = s->width.out * s->inner, line = s->width.in * s->inner, pitch = (n + 15) / 16 * 16;
    const int64_t first = firsts(s, t)[o], slots = t->taps <= RING ? t->taps : 1;
    const float *w = weights(s, t) + o * t->taps, *row[RING] = {plane, plane, plane, plane};
    for (int64_t j = 0; j < t->taps; j++) {
        int64_t i = first + j, slot = i % slots;
        const float *resized = s->width.repeat == 1 ? plane + i * line : ring + slot * pitch;
        if (s->width.repeat != 1 && held[slot] != i) {
            resize_width(s, ring + slot * pitch, plane + i * line);
            held[slot] = i;
        }
        if (t->taps > RING) {
            (j == 0 ? scale_into : add_scaled)(y, resized, n, w[j]);
        } else {
            row[j] = resized;
        }
    }
    if (t->taps == 1) {
        scale_into(y, row[0], n, w[0]);
    } else if (t->taps == 4) {
        blend_four(y, row, n, w);
    } else if (t->taps <= RING) {
        blend(y, row[0], row[1], n, w[0], w[1]);
        for (int64_t j = 2; j < t->taps; j++) {
            add_scaled(y, row[j], n, w[j]);
        }
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const state *s = launch->state;
    const int64_t n = s->width.out * s->inner, line = s->width.in * s->inner;
    int64_t plane = (int64_t)task / s->tasks_per_plane, first = (int64_t)task % s->tasks_per_plane * s->rows_per_task;
    int64_t end = first + s->rows_per_task < s->height.out ? first + s->rows_per_task : s->height.out;
    const float *x = (const float *)launch->in[0] + plane * s->height.in * line;
    float *y = (float *)launch->out[0] + plane * s->height.out * n;
    float *ring = (float *)(void *)(launch->scratch + worker * launch->prepared->scratch);
    int64_t held[RING] = {-1, -1, -1, -1};
    const int32_t *from = firsts(s, &s->height);
    for (int64_t o = first; o < end; o++) {
        if (!s->height.plain) {
            output_row(s, x, o, y + o * n, ring, held);
        } else if (o > first && from[o] == from[o - 1]) {
            memcpy(y + o * n, y + (o - 1) * n, (size_t)n * sizeof *y);
        } else {
            resize_width(s, y + o * n, x + from[o] * line);
        }
    }
}

const ry_kernel RY_ISA_SYMBOL(resize_f32) = {
    .name = "resize_f32_" RY_ISA_TEXT,
    .family = "resize_f32",
    .op = RY_OP_resize,
    .device = RY_DEVICE_cpu,
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_strict,
    .applicable = applicable,
    .prepare = prepare,
    .initialise = initialise,
    .run = run,
};
