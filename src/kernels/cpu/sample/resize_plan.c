/* SPDX-License-Identifier: Apache-2.0 */
/* Which resizes, and gradients of resizes, the vector kernels take, and their tables. The gradient
 * is the transposed map: a resize with weights of its own. */
#include "kernels/cpu/sample/resize_plan.h"

#include "base/integer.h"
#include "base/room.h"
#include "kernels/common/resize_map.h"
#include "kernels/common/work.h"
#include "kernels/cpu/parts/dense_lanes.h"
#include "kernels/cpu/sample/resize_cost.h"
#include "problem/limits.h"
#include "problem/resize_dyadic.h"

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

static bool is_gradient(const ry_problem *problem)
{
    return problem->op == RY_OP_resize_grad;
}

static ry_resize_mode mode_of(const ry_problem *problem)
{
    return is_gradient(problem) ? problem->attrs.resize_grad.mode : problem->attrs.resize.mode;
}

/* Every position is its own source. */
static bool keeps(const ry_resize_axis *axis)
{
    double weight;
    int64_t first = 0;
    bool same =
        ry_resize_axis_is_identity(axis) || (axis->mode == RY_resize_mode_nearest &&
                                             axis->in == axis->out && axis->out <= RESIZE_TRIED);
    for (int64_t o = 0; same && o < axis->out && !ry_resize_axis_is_identity(axis); o++) {
        same = ry_resize_taps(axis, o, &first, &weight) == 1 && first == o;
    }
    return same;
}

/* Is a table of the transposed map, or of the map itself, too large for the state? */
static bool is_late(const ry_resize_axis *axis, bool transposed)
{
    const resize_readers_bound readers = ry_resize_readers_bound(axis);
    return (transposed ? ry_product(readers.end - readers.begin, readers.most)
                       : ry_product(axis->out, ry_resize_max_taps(axis))) > RY_LIMIT_RESIZE_WEIGHTS;
}

/* Does any axis move its elements? */
static bool changes(const ry_problem *problem)
{
    bool any = false;
    for (int i = 0; i < problem->in[0].rank; i++) {
        const ry_resize_axis axis = resize_axis_of(problem, i);
        any = any || !keeps(&axis);
    }
    return any;
}

/* Bytes whose sums are exact in float. */
static bool has_exact_bytes(const ry_problem *problem)
{
    return !is_gradient(problem) && (ry_dtype)problem->in[0].dtype == RY_u8 &&
           ry_resize_is_dyadic(&problem->attrs.resize, problem->in[0].rank, problem->in[0].dim,
                               problem->out[0].dim);
}

bool ry_resize_applicable(const ry_problem *problem)
{
    const ry_tensor *x = &problem->in[0], *y = &problem->out[0];
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_output(problem, 0) ||
        x->dtype != y->dtype || x->rank < 1 || x->rank != y->rank || ry_tensor_count(x) == 0 ||
        ry_tensor_count(y) == 0 ||
        (x->dtype == RYND_DTYPE_BOOL && mode_of(problem) != RY_resize_mode_nearest)) {
        return false;
    }
    int changing = 0;
    for (int i = 0; i < x->rank; i++) {
        const ry_resize_axis axis = resize_axis_of(problem, i);
        changing += !keeps(&axis);
    }
    if (row_major(problem)) {
        return true;
    }
    /* integers are rounded as the sums in the order of dims are */
    const ry_resize_axis channels = resize_axis_of(problem, x->rank > 1 ? 1 : 0);
    if (!ry_dtype_is_float((ry_dtype)x->dtype) && !has_exact_bytes(problem) && changing > 1 &&
        !keeps(&channels) && mode_of(problem) != RY_resize_mode_nearest) {
        return false;
    }
    return ry_tensor_is_channels_last(x) && ry_tensor_is_channels_last(y);
}

/* What ry_resize_max_taps gives is a bound; linear and cubic without antialiasing need one tap
 * less, or fewer where all outputs fall on inputs. */
static int64_t max_taps(const ry_resize_axis *axis)
{
    enum { FEW = 8 };
    double weight[FEW];
    int64_t bound = ry_resize_max_taps(axis), max = 1, first;
    if (bound > FEW || (axis->antialias && axis->out > RESIZE_TRIED)) {
        return bound;
    }
    if (axis->out > RESIZE_TRIED) {
        return ry_min(bound, axis->mode == RY_resize_mode_linear ? 2 : 4);
    }
    for (int64_t o = 0; o < axis->out; o++) {
        int64_t count = ry_resize_taps(axis, o, &first, weight);
        max = count > max ? count : max;
    }
    return max;
}

/* Bytes that resize_transposing the largest axis needs, of those with a table in the state. */
static size_t transposing_bytes(const ry_problem *problem)
{
    size_t most = 0;
    for (int d = 0; is_gradient(problem) && d < problem->in[0].rank; d++) {
        const ry_resize_axis axis = resize_axis_of(problem, d);
        const size_t bytes = (size_t)axis.in * sizeof(ry_resize_readers) +
                             (size_t)ry_resize_max_taps(&axis) * sizeof(double);
        const bool moves = !keeps(&axis) || (d == 0 && !changes(problem));
        most = moves && bytes > most && !is_late(&axis, true) ? bytes : most;
    }
    return ry_aligned(most);
}

/* The most outputs that read an input. */
static int64_t most_readers(const ry_resize_axis *axis, void *room)
{
    const resize_transposing t = resize_transposing_in(room, axis);
    int64_t most = 1;
    ry_resize_find_readers(axis, t.readers, t.row);
    for (int64_t i = 0; i < axis->in; i++) {
        most = t.readers[i].count > most ? t.readers[i].count : most;
    }
    return most;
}

/* Bytes of the state and of the workspace. */
typedef struct table_bytes {
    size_t of[2];
} table_bytes;

/* The transposed map of an axis: tables in the state hold the most readers, others a bound. */
static void describe_readers(const ry_resize_axis *axis, void *room, resize_axis *t)
{
    const resize_readers_bound readers = ry_resize_readers_bound(axis);
    const bool late = is_late(axis, true);
    *t = (resize_axis){.late = late,
                       .in = axis->out,
                       .out = axis->in,
                       .base = readers.begin,
                       .entries = readers.end - readers.begin,
                       .taps = late ? readers.most : most_readers(axis, room)};
    t->inside_begin = t->base;
    t->inside_end = t->base + t->entries;
}

static void describe_map(const ry_resize_axis *axis, resize_axis *t)
{
    *t = (resize_axis){.late = is_late(axis, false),
                       .in = axis->in,
                       .out = axis->out,
                       .entries = axis->out,
                       .taps = max_taps(axis),
                       .inside_end = axis->out};
    if (t->late) {
        ry_resize_inside(axis, &t->inside_begin, &t->inside_end);
    }
}

/* Describes an axis, and adds its table's size. room: for transposing. */
static void describe_axis(resize_plan *s, const ry_resize_axis *axis, void *room, bool by_tap,
                          table_bytes *bytes, resize_axis *t)
{
    if (s->transposed) {
        describe_readers(axis, room, t);
    } else {
        describe_map(axis, t);
    }
    size_t *end = &bytes->of[t->late];
    t->far = t->in > RY_LIMIT_RESIZE_LENGTH;
    for (t->slots = 1; t->slots < t->taps;) {
        t->slots *= 2;
    }
    t->step_tap = by_tap ? t->entries : 1;
    t->step_out = by_tap ? 1 : t->taps;
    t->first = ry_room(end, t->entries, t->far ? sizeof(int64_t) : sizeof(int32_t));
    t->weight =
        ry_room(end, ry_product(t->entries, t->taps), s->wide ? sizeof(double) : sizeof(float));
    s->most_taps = ry_max(s->most_taps, ry_resize_max_taps(axis));
    s->fills += t->late ? (size_t)ry_ceil_div(t->entries, RESIZE_FILLED) : 0;
    s->extrapolates = s->extrapolates || t->entries < t->out;
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
static void describe(const ry_query *query, void *room, resize_plan *s, table_bytes *bytes)
{
    const ry_problem *problem = query->problem;
    const bool gradient = is_gradient(problem);
    const ry_tensor *x = &problem->in[0];
    *s = (resize_plan){.dtype = x->dtype,
                       .picks = !gradient && mode_of(problem) == RY_resize_mode_nearest,
                       .wide = x->dtype != RYND_DTYPE_F32 && x->dtype != RYND_DTYPE_F16 &&
                               x->dtype != RYND_DTYPE_BF16 && !has_exact_bytes(problem),
                       .bytes = has_exact_bytes(problem),
                       .transposed = gradient,
                       .extrapolates = !gradient && problem->attrs.resize.coordinates ==
                                                        RY_resize_coordinates_tf_crop_and_resize,
                       .inner = 1,
                       .taps = 1,
                       .slots = 1};
    *bytes = (table_bytes){{ry_aligned(sizeof *s) + transposing_bytes(problem), 0}};
    int last = x->rank - 1;
    for (; last > 0; last--) {
        const ry_resize_axis axis = resize_axis_of(problem, dim_at(problem, last));
        if (!keeps(&axis)) {
            break;
        }
        s->inner *= axis.in;
    }
    for (int i = 0; i <= last; i++) {
        const ry_resize_axis axis = resize_axis_of(problem, dim_at(problem, i));
        if (i < last && keeps(&axis)) {
            add_kept(s, axis.in);
        } else {
            resize_axis *t = i == last ? &s->width : &s->lead[s->leads++];
            describe_axis(s, &axis, room, i == last && s->inner == 1, bytes, t);
            t->dim = dim_at(problem, i);
        }
    }
    int64_t rows = 1;
    for (int a = 0; a < s->leads; a++) {
        s->levels += !s->lead[a].kept;
        rows *= s->lead[a].out;
        s->taps = ry_product(s->taps, s->lead[a].taps);
        s->slots = ry_product(s->slots, s->lead[a].slots);
    }
    s->levels = s->picks || s->bytes || ry_dtype_is_float((ry_dtype)s->dtype) || s->levels < 2
                    ? 0
                    : s->levels;
    s->ring = s->slots <= RESIZE_RING;
    s->slots = s->ring ? s->slots : 1;
    s->single = s->ring && s->leads > 0 && !s->lead[s->leads - 1].kept &&
                (s->leads == 1 || (s->leads == 2 && s->lead[0].kept));
    s->rows = ry_lanes_cut(query->target->machine, rows,
                           (int64_t)ry_dtype_size((ry_dtype)s->dtype) * s->width.out * s->inner);
}

/* Places rows in the scratch, whose bytes it returns in *end. */
static void lay_out(resize_plan *s, size_t *end)
{
    const size_t sum = s->wide ? sizeof(double) : sizeof(float);
    const int64_t in = ry_product(s->width.in, s->inner), out = ry_product(s->width.out, s->inner);
    s->pitch = ry_round_up(out, 16);
    s->line = s->picks ? 0 : ry_aligned((size_t)(s->pitch * s->slots) * sum);
    s->sum = s->line + (s->picks ? 0 : ry_aligned((size_t)in * sum));
    s->level = s->sum + (s->picks ? 0 : ry_aligned((size_t)out * sum));
    *end = s->level + ry_aligned((size_t)(s->pitch * s->levels) * sum);
}

/* Scratch: the ring, and rows of other types than their sums have. */
rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    resize_plan s;
    table_bytes bytes;
    const size_t room_bytes = transposing_bytes(query->problem);
    void *room = room_bytes ? ry_allocate(&ry_system_allocator, room_bytes) : NULL;
    if (room_bytes && !room) {
        return ry_fail_memory(error);
    }
    describe(query, room, &s, &bytes);
    ry_release(&ry_system_allocator, room);
    ry_count_work(ry_resize_work(query, &s), ry_problem_bytes(query->problem), prepared);
    lay_out(&s, &prepared->scratch);
    const size_t spare = ry_aligned((size_t)s.most_taps * sizeof(double)),
                 tasks = (size_t)ry_cut_parts(&s.rows);
    prepared->state_size = bytes.of[0] + spare;
    prepared->phases = s.fills > 0 ? 2 : 1;
    prepared->tasks[0] = s.fills > 0 ? s.fills : tasks;
    if (s.fills > 0) {
        prepared->workspace = bytes.of[1];
        prepared->scratch = prepared->scratch > spare ? prepared->scratch : spare;
        prepared->tasks[1] = tasks;
        prepared->work[1] = prepared->work[0];
        prepared->work[0] = (ry_work){ry_resize_filling_work(query, &s), 0};
        prepared->counts.flop += prepared->work[0].all;
        prepared->counts.bytes += 2 * (double)bytes.of[1];
    }
    return prepared->scratch < SIZE_MAX / 2 ? RYND_OK : ry_fail_memory(error);
}

void ry_resize_initialise(const ry_query *query, void *memory)
{
    const ry_problem *problem = query->problem;
    const ry_tensor *x = &problem->in[0];
    table_bytes bytes;
    size_t scratch;
    resize_plan *s = memory;
    void *room = is_gradient(problem) ? (char *)memory + ry_aligned(sizeof *s) : NULL;
    describe(query, room, s, &bytes);
    lay_out(s, &scratch);
    s->plain = true;
    for (int i = 0, lead = 0; i < x->rank; i++) {
        const ry_resize_axis axis = resize_axis_of(problem, dim_at(problem, i));
        if (keeps(&axis) && (i > 0 || changes(problem))) {
            continue;
        }
        while (lead < s->leads && s->lead[lead].kept) {
            lead++;
        }
        resize_axis *t = lead < s->leads ? &s->lead[lead++] : &s->width;
        if (t->late) {
            t->plain = t->taps == 1 && s->picks;
        } else if (s->transposed) {
            ry_resize_fill_transposed(s, &axis, room, t);
        } else {
            ry_resize_fill_axis(s, &axis, t, RY_AT(double, memory, bytes.of[0]));
        }
        s->plain = s->plain && (t == &s->width || t->plain);
    }
    ry_resize_find_period(s, &s->width);
}
