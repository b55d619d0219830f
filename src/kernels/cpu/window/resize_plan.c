/* SPDX-License-Identifier: Apache-2.0 */
/* Which resizes the vector kernels take, their tables and their cost. */
#include "kernels/cpu/window/resize_plan.h"

#include "base/integer.h"
#include "kernels/common/resize_map.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

enum {
    /* weights of an axis's table at most: a larger one would cost more memory and time while
     * planning than it is worth */
    MAX_WEIGHTS = 1 << 21,
    /* most outputs of an axis that planning looks at one by one */
    MAX_TRIED = 1 << 16
};

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
    bool same =
        ry_resize_axis_is_identity(axis) ||
        (axis->mode == RY_resize_mode_nearest && axis->in == axis->out && axis->out <= MAX_TRIED);
    for (int64_t o = 0; same && o < axis->out && !ry_resize_axis_is_identity(axis); o++) {
        same = ry_resize_taps(axis, o, &first, &weight) == 1 && first == o;
    }
    return same;
}

static bool dense_f32(const ry_tensor *t)
{
    return t->dtype == RYND_DTYPE_F32 &&
           (ry_tensor_is_row_major(t) || ry_tensor_is_channels_last(t));
}

static bool has_table(const ry_resize_axis *axis)
{
    return axis->in <= INT32_MAX && ry_product(axis->out, ry_resize_max_taps(axis)) <= MAX_WEIGHTS;
}

bool ry_resize_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) || !dense_f32(x) ||
        !dense_f32(y) || x->rank < 1 || x->rank != y->rank || ry_tensor_count(x) == 0 ||
        ry_tensor_count(y) == 0 ||
        problem->attrs.resize.coordinates == RY_resize_coordinates_tf_crop_and_resize) {
        return false;
    }
    int height, width;
    spatial_dims(problem, &height, &width);
    for (int i = 0; i < x->rank; i++) {
        ry_resize_axis axis = axis_of(problem, i);
        if (i == height || i == width ? !has_table(&axis) : !keeps(&axis)) {
            return false;
        }
    }
    return ry_tensor_is_row_major(x) ? ry_tensor_is_row_major(y) : ry_tensor_is_channels_last(y);
}

/* What ry_resize_max_taps gives is a bound; linear and cubic without antialiasing need one tap
 * less, or fewer where all outputs fall on inputs. */
static int64_t max_taps(const ry_resize_axis *axis)
{
    enum { FEW = 8 };
    double weight[FEW];
    int64_t bound = ry_resize_max_taps(axis), max = 1, first;
    if (bound > FEW || (axis->antialias && axis->out > MAX_TRIED)) {
        return bound;
    }
    if (axis->out > MAX_TRIED) {
        return ry_min(bound, axis->mode == RY_resize_mode_linear ? 2 : 4);
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t count = ry_resize_taps(axis, o, &first, weight);
        max = count > max ? count : max;
    }
    return max;
}

/* Describes an axis whose table begins `*bytes` into the state, and adds the table's size. */
static void describe_axis(const ry_problem *problem, int dim, bool by_tap, size_t *bytes,
                          resize_axis *t)
{
    *t = (resize_axis){.in = 1, .out = 1, .taps = 1, .first = *bytes};
    if (dim >= 0) {
        ry_resize_axis axis = axis_of(problem, dim);
        t->in = axis.in;
        t->out = axis.out;
        t->taps = max_taps(&axis);
    }
    t->step_tap = by_tap ? t->out : 1;
    t->step_out = by_tap ? 1 : t->taps;
    const size_t out = (size_t)t->out, taps = (size_t)t->taps;
    t->weight = t->first + (out * sizeof(int32_t) + 7) / 8 * 8;
    t->spare = t->weight + (out * taps * sizeof(float) + 7) / 8 * 8;
    *bytes = t->spare + taps * sizeof(double);
}

static void describe(const ry_query *query, resize_plan *s, size_t *bytes)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0];
    int height, width;
    spatial_dims(problem, &height, &width);
    *s = (resize_plan){.outer = 1, .inner = ry_tensor_is_row_major(x) ? 1 : x->dim[1]};
    for (int i = 0; i < x->rank; i++) {
        s->outer *=
            i == height || i == width || (i == 1 && !ry_tensor_is_row_major(x)) ? 1 : x->dim[i];
    }
    *bytes = sizeof *s;
    describe_axis(problem, height, false, bytes, &s->height);
    describe_axis(problem, width, s->inner == 1, bytes, &s->width);
    s->rows_per_task =
        ry_lanes_per_task(query->target->machine, s->height.out, 4 * s->width.out * s->inner);
    s->tasks_per_plane = (s->height.out + s->rows_per_task - 1) / s->rows_per_task;
}

/* Work per element along an axis, if elements lie in rows or follow a repeating pattern. */
static double axis_work(int64_t taps, const struct ry_resize_costs *cost)
{
    return taps == 1             ? 0
           : taps == 2           ? cost->two
           : taps <= RESIZE_RING ? cost->four
                                 : (double)taps * cost->many;
}

static bool repeats(const resize_axis *t)
{
    return t->out % t->in == 0 && (t->taps == 1 || t->out / t->in <= RESIZE_PERIOD);
}

/* NCHW: input rows are resized along the width once, but for windows that are too tall for the
 * ring. */
static double rows_work(const resize_plan *s, const struct ry_resize_costs *cost)
{
    const double rows = (double)s->outer * (double)s->height.out,
                 pixels = rows * (double)s->width.out;
    const double reused =
        ry_max(s->height.in, 1) < s->height.out ? (double)s->height.in / (double)s->height.out : 1;
    const double times = s->height.taps > RESIZE_RING ? (double)s->height.taps : reused;
    const bool copied = s->height.taps == 1 && s->width.taps == 1;
    const double pick = s->width.taps == 1 ? cost->pick : cost->gather;
    const double along =
        repeats(&s->width) || s->width.taps > 2 ? axis_work(s->width.taps, cost) : pick * times;
    const double tall = s->height.taps > RESIZE_RING ? (double)s->height.taps : 1;
    return rows * (copied ? cost->copied : cost->row) +
           pixels * (along * tall + axis_work(s->height.taps, cost));
}

/* NHWC: rows of a larger ring take time to be read. */
static double pixels_work(const ry_query *query, const resize_plan *s)
{
    const struct ry_resize_costs *cost = &ry_costs_asked(query)->resize;
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    const double pixels = (double)s->outer * (double)s->height.out * (double)s->width.out,
                 row = 4.0 * (double)s->inner;
    const double taps = (double)((s->height.taps > 1 ? s->height.taps : 0) +
                                 (s->width.taps > 1 ? s->width.taps : 0));
    const double ring = s->height.taps > 1 ? (double)s->height.taps * row : 0;
    const bool near =
        ring * (double)s->width.out <= ry_costs_asked(query)->blocks.resize_ring *
                                           (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2);
    const double products = taps * (double)ry_ceil_div(s->inner, width) * cost->product;
    const double rest = taps > 0 && s->inner % width != 0 ? 2 * cost->rest : 0;
    return pixels * (cost->pixel + products + rest + (near ? 0 : ry_stream_work(machine, ring)));
}

static double work_of(const ry_query *query, const resize_plan *s)
{
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem));
    return moved +
           (s->inner == 1 ? rows_work(s, &ry_costs_asked(query)->resize) : pixels_work(query, s));
}

rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    resize_plan s;
    describe(query, &s, &prepared->state_size);
    prepared->phases = 1;
    ry_count_work(work_of(query, &s), ry_problem_bytes(query->problem), prepared);
    prepared->tasks[0] = (size_t)(s.outer * s.tasks_per_plane);
    int64_t rows = s.height.taps <= RESIZE_RING ? s.height.taps : 1;
    size_t row = (size_t)(s.width.out * s.inner + 15) / 16 * 64;
    if (!ry_mul_size(row, (size_t)rows, &prepared->scratch)) {
        return ry_fail_memory(error);
    }
    return RYND_OK;
}

/* Fills a table. A window that would pass the end of the input moves back, and its weights forward:
 * all `taps` elements can then be read. */
static void fill_axis(const ry_problem *problem, int dim, char *state_bytes, resize_axis *t)
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

/* Enlarging by a whole number makes a pattern that repeats, apart from the edges: from one middle
 * period it is followed both ways. */
static void find_period(const char *state_bytes, resize_axis *t)
{
    const int32_t *first = (const int32_t *)(const void *)(state_bytes + t->first);
    const float *weight = (const float *)(const void *)(state_bytes + t->weight);
    const int64_t p = t->out % t->in == 0 ? t->out / t->in : 0, middle = p ? t->in / 2 * p : 0;
    t->period = p > 1 && p <= RESIZE_PERIOD && t->in >= 4 && !t->plain ? p : 0;
    if (t->period == 0) {
        return;
    }
    t->begin = t->end = middle;
    for (int way = -1; way <= 1; way += 2) {
        for (int64_t o = way < 0 ? middle - 1 : middle; o >= 0 && o < t->out; o += way) {
            int64_t like = middle + (o % p), further = o / p - middle / p;
            bool same = first[o] == first[like] + further;
            for (int64_t j = 0; same && j < t->taps; j++) {
                same = weight[j * t->step_tap + o * t->step_out] ==
                       weight[j * t->step_tap + like * t->step_out];
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

void ry_resize_initialise(const ry_query *query, void *memory)
{
    const ry_problem *problem = query->problem;
    size_t bytes;
    int height, width;
    resize_plan *s = memory;
    describe(query, s, &bytes);
    spatial_dims(problem, &height, &width);
    fill_axis(problem, height, memory, &s->height);
    fill_axis(problem, width, memory, &s->width);
    find_period(memory, &s->width);
}
