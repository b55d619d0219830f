/* SPDX-License-Identifier: Apache-2.0 */
/* Which resizes the vector kernels take, their tables and their cost. */
#include "kernels/cpu/sample/resize_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/resize_map.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/dense_lanes.h"

#include <math.h>

enum {
    /* weights of an axis's table at most: a larger one would cost more memory and time while
     * planning than it is worth */
    MAX_WEIGHTS = 1 << 21,
    /* most outputs of an axis for planning to try singly */
    MAX_TRIED = 1 << 16,
    /* axes along which integers are interpolated: more would round halves otherwise than the
     * definition, which sums axis by axis */
    MAX_INTEGER_AXES = 2
};

/* Are both tensors row-major? Else they are channels last. */
static bool row_major(const ry_problem *problem)
{
    return ry_tensor_is_row_major(&problem->in[0]) && ry_tensor_is_row_major(&problem->out[0]);
}

/* Dim number `i` in the order of memory. */
static int dim_at(const ry_problem *problem, int i)
{
    if (row_major(problem) || i == 0) {
        return i;
    }
    return i == problem->in[0].rank - 1 ? 1 : i + 1;
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

static bool has_table(const ry_resize_axis *axis)
{
    return axis->in <= INT32_MAX && ry_product(axis->out, ry_resize_max_taps(axis)) <= MAX_WEIGHTS;
}

/* Does any axis move its elements? */
static bool changes(const ry_problem *problem)
{
    bool any = false;
    for (int i = 0; i < problem->in[0].rank; i++) {
        const ry_resize_axis axis = axis_of(problem, i);
        any = any || !keeps(&axis);
    }
    return any;
}

bool ry_resize_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        x->dtype != y->dtype || x->rank < 1 || x->rank != y->rank || ry_tensor_count(x) == 0 ||
        ry_tensor_count(y) == 0 ||
        (x->dtype == RYND_DTYPE_BOOL && problem->attrs.resize.mode != RY_resize_mode_nearest)) {
        return false;
    }
    int changing = 0;
    for (int i = 0; i < x->rank; i++) {
        ry_resize_axis axis = axis_of(problem, i);
        changing += !keeps(&axis);
        if ((!keeps(&axis) || (i == 0 && !changes(problem))) && !has_table(&axis)) {
            return false;
        }
    }
    if (!ry_dtype_is_float((ry_dtype)x->dtype) && changing > MAX_INTEGER_AXES &&
        problem->attrs.resize.mode != RY_resize_mode_nearest) {
        return false;
    }
    return row_major(problem) || (ry_tensor_is_channels_last(x) && ry_tensor_is_channels_last(y));
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
static void describe_axis(const resize_plan *s, const ry_resize_axis *axis, bool by_tap,
                          size_t *bytes, resize_axis *t)
{
    *t = (resize_axis){.in = axis->in,
                       .out = axis->out,
                       .taps = max_taps(axis),
                       .inside_end = axis->out,
                       .first = *bytes};
    for (t->slots = 1; t->slots < t->taps;) {
        t->slots *= 2;
    }
    t->step_tap = by_tap ? t->out : 1;
    t->step_out = by_tap ? 1 : t->taps;
    const size_t out = (size_t)t->out, taps = (size_t)t->taps,
                 sum = s->wide ? sizeof(double) : sizeof(float);
    t->weight = t->first + (out * sizeof(int32_t) + 7) / 8 * 8;
    t->spare = t->weight + (out * taps * sum + 7) / 8 * 8;
    *bytes = t->spare + taps * sizeof(double);
}

/* Adds an unchanged dim; neighbouring ones are joined. */
static void add_kept(resize_plan *s, int64_t extent)
{
    if (s->leads > 0 && s->lead[s->leads - 1].kept) {
        s->lead[s->leads - 1].in *= extent;
        s->lead[s->leads - 1].out *= extent;
        s->lead[s->leads - 1].inside_end *= extent;
        return;
    }
    s->lead[s->leads++] = (resize_axis){.in = extent,
                                        .out = extent,
                                        .taps = 1,
                                        .slots = 1,
                                        .kept = true,
                                        .plain = true,
                                        .inside_end = extent};
}

/* Describes the axes in the order of memory; the last that changes, or the first of all, is the
 * width. */
static void describe(const ry_query *query, resize_plan *s, size_t *bytes)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0];
    *s = (resize_plan){.dtype = x->dtype,
                       .picks = problem->attrs.resize.mode == RY_resize_mode_nearest,
                       .wide = x->dtype != RYND_DTYPE_F32 && x->dtype != RYND_DTYPE_F16 &&
                               x->dtype != RYND_DTYPE_BF16,
                       .extrapolates = problem->attrs.resize.coordinates ==
                                       RY_resize_coordinates_tf_crop_and_resize,
                       .inner = 1,
                       .rows = 1,
                       .taps = 1,
                       .slots = 1};
    *bytes = sizeof *s;
    int last = x->rank - 1;
    for (; last > 0; last--) {
        const ry_resize_axis axis = axis_of(problem, dim_at(problem, last));
        if (!keeps(&axis)) {
            break;
        }
        s->inner *= axis.in;
    }
    for (int i = 0; i <= last; i++) {
        const ry_resize_axis axis = axis_of(problem, dim_at(problem, i));
        if (i < last && keeps(&axis)) {
            add_kept(s, axis.in);
        } else {
            describe_axis(s, &axis, i == last && s->inner == 1, bytes,
                          i == last ? &s->width : &s->lead[s->leads++]);
        }
    }
    for (int a = 0; a < s->leads; a++) {
        s->rows *= s->lead[a].out;
        s->taps = ry_product(s->taps, s->lead[a].taps);
        s->slots = ry_product(s->slots, s->lead[a].slots);
    }
    s->ring = s->slots <= RESIZE_RING;
    s->slots = s->ring ? s->slots : 1;
    s->single = s->ring && s->leads > 0 && !s->lead[s->leads - 1].kept &&
                (s->leads == 1 || (s->leads == 2 && s->lead[0].kept));
    s->rows_per_task =
        ry_lanes_per_task(query->target->machine, s->rows,
                          (int64_t)ry_dtype_size((ry_dtype)s->dtype) * s->width.out * s->inner);
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

/* Places rows in the scratch, whose bytes it returns in *end. */
static void lay_out(resize_plan *s, size_t *end)
{
    const size_t sum = s->wide ? sizeof(double) : sizeof(float);
    const int64_t in = ry_product(s->width.in, s->inner), out = ry_product(s->width.out, s->inner);
    s->pitch = ry_round_up(out, 16);
    s->line = s->picks ? 0 : ry_aligned((size_t)(s->pitch * s->slots) * sum);
    s->sum = s->line + (s->picks ? 0 : ry_aligned((size_t)in * sum));
    *end = s->sum + (s->picks ? 0 : ry_aligned((size_t)out * sum));
}

/* How many input rows are resized along the width for an output row. */
static double resized_rows(const resize_plan *s)
{
    if (!s->ring) {
        return (double)s->taps;
    }
    const resize_axis *near = s->leads > 0 ? &s->lead[s->leads - 1] : NULL;
    return near && near->taps > 1 && near->in < near->out
               ? (double)s->taps / (double)near->taps * (double)near->in / (double)near->out
               : (double)s->taps / (near ? (double)near->taps : 1);
}

/* Elements in rows: input rows are resized along the width once, but for windows that are too large
 * for the ring. */
static double rows_work(const resize_plan *s, const struct ry_resize_costs *cost)
{
    const double rows = (double)s->rows, pixels = rows * (double)s->width.out;
    const bool copied = s->taps == 1 && s->width.taps == 1;
    const double pick = s->width.taps == 1 ? cost->pick : cost->gather;
    const double along = repeats(&s->width) || s->width.taps > 2
                             ? axis_work(s->width.taps, cost) * fmax(resized_rows(s), 1)
                             : pick * resized_rows(s);
    return rows * (copied ? cost->copied : cost->row) +
           pixels * (along + (s->taps > 1 ? cost->two / 2 * (double)s->taps : 0));
}

/* Rows of pixels: rows of a larger ring take time to be read. */
static double pixels_work(const ry_query *query, const resize_plan *s)
{
    const struct ry_resize_costs *cost = &ry_costs_asked(query)->resize;
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    const double pixels = (double)s->rows * (double)s->width.out, row = 4.0 * (double)s->inner;
    const double taps =
        (double)((s->taps > 1 ? s->taps : 0) + (s->width.taps > 1 ? s->width.taps : 0));
    const double ring = s->taps > 1 ? (double)s->taps * row : 0;
    const bool near =
        ring * (double)s->width.out <= ry_costs_asked(query)->blocks.resize_ring *
                                           (double)ry_machine_core_bytes(machine, RYND_LEVEL_L2);
    const double products = taps * (double)ry_ceil_div(s->inner, width) * cost->product;
    const double rest = taps > 0 && s->inner % width != 0 ? 2 * cost->rest : 0;
    return pixels * (cost->pixel + products + rest + (near ? 0 : ry_stream_work(machine, ring)));
}

static bool converts(const resize_plan *s)
{
    return !s->picks && s->dtype != RYND_DTYPE_F32 && s->dtype != RYND_DTYPE_F64;
}

static double work_of(const ry_query *query, const resize_plan *s)
{
    const struct ry_resize_costs *cost = &ry_costs_asked(query)->resize;
    const double moved = ry_stream_work(query->target->machine, ry_problem_bytes(query->problem)),
                 summed = s->inner == 1 ? rows_work(s, cost) : pixels_work(query, s);
    return moved + summed * (s->wide && !s->picks ? 2 : 1) +
           (converts(s) ? (double)ry_tensor_count(&query->problem->out[0]) * cost->converted : 0);
}

/* Scratch: the ring, and rows of other types than their sums have. */
rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    resize_plan s;
    describe(query, &s, &prepared->state_size);
    prepared->phases = 1;
    ry_count_work(work_of(query, &s), ry_problem_bytes(query->problem), prepared);
    prepared->tasks[0] = ry_lanes_tasks(s.rows, s.rows_per_task);
    lay_out(&s, &prepared->scratch);
    return prepared->scratch < SIZE_MAX / 2 ? RYND_OK : ry_fail_memory(error);
}

/* Fills a table. A window that would pass the end of the input moves back, and its weights forward:
 * all `taps` elements can then be read. */
static void fill_axis(resize_plan *s, const ry_resize_axis *axis, resize_axis *t)
{
    char *state = (char *)s;
    int32_t *first = RY_AT(int32_t, state, t->first);
    void *weight = state + t->weight;
    double *found = RY_AT(double, state, t->spare);
    t->plain = t->taps == 1;
    t->repeat = t->out % t->in == 0 ? t->out / t->in : 0;
    t->inside_begin = t->out;
    t->inside_end = 0;
    for (int64_t o = 0; o < t->out; o++) {
        int64_t from = 0, count = ry_resize_taps(axis, o, &from, found);
        int64_t back = from + t->taps > t->in ? from + t->taps - t->in : 0;
        first[o] = (int32_t)(from - back);
        t->inside_begin = count > 0 && o < t->inside_begin ? o : t->inside_begin;
        t->inside_end = count > 0 ? o + 1 : t->inside_end;
        for (int64_t j = t->taps - 1; j >= 0; j--) {
            const double w = j >= back && j - back < count ? found[j - back] : 0;
            const int64_t at = j * t->step_tap + o * t->step_out;
            t->plain = t->plain && (w == 1 || count == 0);
            if (s->wide) {
                ((double *)weight)[at] = w;
            } else {
                ((float *)weight)[at] = (float)w;
            }
        }
        t->repeat = t->plain && first[o] == (t->repeat ? o / t->repeat : -1) ? t->repeat : 0;
    }
    t->inside_begin = t->inside_begin < t->inside_end ? t->inside_begin : t->inside_end;
}

/* Enlarging by a whole number makes a pattern that repeats, apart from the edges: from one middle
 * period it is followed both ways. */
static void find_period(const resize_plan *s, resize_axis *t)
{
    const int32_t *first = resize_firsts(s, t);
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
                same = resize_weight(s, t, j, o) == resize_weight(s, t, j, like);
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
    const ry_tensor *x = &problem->in[0];
    size_t bytes;
    resize_plan *s = memory;
    describe(query, s, &bytes);
    lay_out(s, &bytes);
    s->plain = true;
    for (int i = 0, lead = 0; i < x->rank; i++) {
        const ry_resize_axis axis = axis_of(problem, dim_at(problem, i));
        if (keeps(&axis) && (i > 0 || changes(problem))) {
            continue;
        }
        while (lead < s->leads && s->lead[lead].kept) {
            lead++;
        }
        if (lead < s->leads) {
            fill_axis(s, &axis, &s->lead[lead]);
            s->plain = s->plain && s->lead[lead].plain;
            lead++;
        } else {
            fill_axis(s, &axis, &s->width);
        }
    }
    find_period(s, &s->width);
}
