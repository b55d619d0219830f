/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: the weight gradient of depthwise convolutions whose channels are last, from x and dy
 * where they are stored (wgrad_depthwise_plan.h). */
#include "base/integer.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/wgrad/wgrad_depthwise_plan.h"
#include "kernels/cpu/wgrad/wgrad_store.h"
#include "kernels/cpu/wgrad/wgrad_taps.h"

/* Vectors of channels [begin, end) of a part. */
typedef struct depthwise_task {
    const wgrad_depthwise_plan *plan;
    const float *x, *dy;
    float *sums;
    int64_t begin, end;
} depthwise_task;

/* Taps from (row, column) on. */
typedef struct window_piece {
    int64_t row, rows, column, columns;
} window_piece;

static int64_t lanes_of(const wgrad_depthwise_plan *plan, int64_t vector)
{
    return ry_min(RY_W, plan->shape.groups - vector * RY_W);
}

/* What each position fetches of so many floats that all of them and all vectors share. */
static int64_t fetched(const wgrad_depthwise_plan *plan, int64_t floats, int64_t positions)
{
    enum { LINE = 16 };
    return ry_round_up(ry_ceil_div(floats, plan->vectors * positions), LINE);
}

/* As many lines behind these as they are, or as much of their line: memory has them one after
 * another, while a vector reads a cache line of each position, which prefetchers do not follow. */
static void set_next(const depthwise_task *t, const wgrad_lines *lines, wgrad_taps *run)
{
    const wgrad_depthwise_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    const ry_window_axis *h = &s->axis[1], *w = &s->axis[2];
    const int64_t positions = (run->inside.end - run->inside.begin) * lines->lines,
                  along = lines->positions.end - lines->positions.begin;
    if (positions == 0) {
        return;
    }
    const bool cut = plan->cuts > 1;
    const int64_t last = ry_window_at(h, lines->line + lines->lines - 1, h->taps - 1);
    run->x_next = t->x + lines->image * s->x.image +
                  (cut ? last * s->x.step[1] +
                             ry_window_at(w, lines->positions.end, w->taps - 1) * s->x.step[2]
                       : (last + 1) * s->x.step[1]);
    run->dy_next = t->dy + lines->image * s->dy.image +
                   (cut ? lines->line * s->dy.step[1] + lines->positions.end * s->dy.step[2]
                        : (lines->line + lines->lines) * s->dy.step[1]);
    run->x_fetched = fetched(
        plan, cut ? along * w->stride * s->x.step[2] : lines->lines * h->stride * s->x.step[1],
        positions);
    run->dy_fetched =
        fetched(plan, cut ? along * s->dy.step[2] : lines->lines * s->dy.step[1], positions);
}

/* The loops of a piece of the window, without what belongs to a vector: x and dy are of the first
 * channel. */
static wgrad_taps loops_of(const depthwise_task *t, const wgrad_lines *lines,
                           const window_piece *piece)
{
    const wgrad_shape *s = &t->plan->shape;
    const ry_window_axis *h = &s->axis[1], *w = &s->axis[2];
    const int64_t end = piece->column + piece->columns, element = ry_window_at(w, 0, piece->column);
    const ry_window_range all = lines->positions;
    ry_window_range inside;
    inside.begin = ry_clamp(wgrad_valid_range(w, piece->column).begin, all.begin, all.end);
    inside.end = ry_clamp(wgrad_valid_range(w, end - 1).end, inside.begin, all.end);
    return (wgrad_taps){.x = t->x + lines->image * s->x.image +
                             ry_window_at(h, lines->line, piece->row) * s->x.step[1] +
                             element * s->x.step[2],
                        .dy = t->dy + lines->image * s->dy.image + lines->line * s->dy.step[1],
                        .x_next = t->x,
                        .dy_next = t->dy,
                        .x_line = h->stride * s->x.step[1],
                        .x_step = w->stride * s->x.step[2],
                        .x_row = h->dilation * s->x.step[1],
                        .x_column = w->dilation * s->x.step[2],
                        .dy_line = s->dy.step[1],
                        .dy_step = s->dy.step[2],
                        .sums_row = w->taps * RY_W,
                        .lines = lines->lines,
                        .positions = all,
                        .inside = inside,
                        .element = element,
                        .elements = w->in,
                        .stride = w->stride,
                        .apart = w->dilation};
}

/* The same of vector `vector`, whose sums begin with those of tap `tap`. */
static wgrad_taps loops_of_vector(const depthwise_task *t, wgrad_taps loops, int64_t vector,
                                  int64_t tap)
{
    loops.x += vector * RY_W;
    loops.dy += vector * RY_W;
    loops.sums = t->sums + vector * t->plan->vector_floats + tap * RY_W;
    loops.lanes = lanes_of(t->plan, vector);
    return loops;
}

/* A piece of the window, of all vectors. */
static void add_piece(const depthwise_task *t, const wgrad_lines *lines, const window_piece *piece,
                      bool first)
{
    wgrad_taps loops = loops_of(t, lines, piece);
    if (first && t->plan->fetches) {
        set_next(t, lines, &loops);
    }
    const int64_t tap = piece->row * t->plan->shape.axis[2].taps + piece->column,
                  positions = (loops.inside.end - loops.inside.begin) * lines->lines;
    for (int64_t vector = t->begin; vector < t->end; vector++) {
        const wgrad_taps of_vector = loops_of_vector(t, loops, vector, tap);
        RY_ISA_SYMBOL(wgrad_add_taps)(&of_vector, piece->rows, piece->columns);
        loops.x_next += loops.x_fetched * positions;
        loops.dy_next += loops.dy_fetched * positions;
    }
}

/* Lines whose windows' rows `taps` meet x. */
static void add_rows(const depthwise_task *t, const wgrad_lines *lines, ry_window_range taps)
{
    const wgrad_depthwise_plan *plan = t->plan;
    const int64_t columns = plan->shape.axis[2].taps;
    for (int64_t row = taps.begin; row < taps.end; row += plan->rows) {
        for (int64_t column = 0; column < columns; column += plan->columns) {
            const window_piece piece = {.row = row,
                                        .rows = ry_min(plan->rows, taps.end - row),
                                        .column = column,
                                        .columns = ry_min(plan->columns, columns - column)};
            add_piece(t, lines, &piece, row == taps.begin && column == 0);
        }
    }
}

static void add_bias(const depthwise_task *t, const wgrad_lines *lines)
{
    const window_piece piece = {.rows = 1, .columns = 1};
    const wgrad_taps loops = loops_of(t, lines, &piece);
    for (int64_t vector = t->begin; vector < t->end; vector++) {
        const wgrad_taps of_vector = loops_of_vector(t, loops, vector, t->plan->shape.taps);
        RY_ISA_SYMBOL(wgrad_add_dy)(&of_vector);
    }
}

static void add_block(const depthwise_task *t, const wgrad_lines *block)
{
    const ry_window_axis *h = &t->plan->shape.axis[1];
    wgrad_lines run = *block;
    for (const int64_t end = block->line + block->lines; run.line < end; run.line += run.lines) {
        const ry_window_range taps = ry_window_taps(h, run.line);
        for (run.lines = 1; run.line + run.lines < end; run.lines++) {
            const ry_window_range next = ry_window_taps(h, run.line + run.lines);
            if (next.begin != taps.begin || next.end != taps.end) {
                break;
            }
        }
        add_rows(t, &run, taps);
    }
    if (t->plan->shape.bias) {
        add_bias(t, block);
    }
}

/* Sums of vectors [begin, end) into weights. */
static void store(const ry_cpu_launch *launch, int64_t begin, int64_t end, const float *sums)
{
    const wgrad_depthwise_plan *plan = launch->state;
    const int64_t taps = plan->shape.taps;
    for (int64_t vector = begin; vector < end; vector++) {
        const wgrad_piece piece = {.channel = vector * RY_W,
                                   .channels = lanes_of(plan, vector),
                                   .rows = taps,
                                   .pitch = RY_W};
        const float *from = sums + vector * plan->vector_floats;
        RY_ISA_SYMBOL(wgrad_store)(&plan->shape, &piece, from, launch->out[0]);
        if (plan->shape.bias) {
            RY_ISA_SYMBOL(wgrad_store_bias)
            (&plan->shape, &piece, from + taps * RY_W, launch->out[1]);
        }
    }
}

static void add_part(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_depthwise_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[0], index, range);
    const int64_t part = range[0].first, begin = part * plan->lines / plan->parts,
                  end = (part + 1) * plan->lines / plan->parts;
    const depthwise_task t = {.plan = plan,
                              .x = launch->in[0],
                              .dy = launch->in[1],
                              .sums = (float *)launch->workspace + part * plan->part_floats,
                              .begin = range[1].first,
                              .end = range[1].first + range[1].count};
    memset(t.sums + t.begin * plan->vector_floats, 0,
           (size_t)((t.end - t.begin) * plan->vector_floats) * sizeof *t.sums);
    for (int64_t line = begin; line < end;) {
        const wgrad_lines block = ry_wgrad_lines_of(plan, line, end);
        add_block(&t, &block);
        line += block.lines;
    }
    if (plan->parts == 1) {
        store(launch, t.begin, t.end, t.sums);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const wgrad_depthwise_plan *plan = launch->state;
    if (launch->phase == 0) {
        add_part(launch, task);
        return;
    }
    ry_cut_range vectors[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[1], task, vectors);
    const int64_t begin = vectors->first, end = begin + vectors->count;
    float *sums = launch->workspace;
    RY_ISA_SYMBOL(wgrad_add_parts)
    (sums + begin * plan->vector_floats, (end - begin) * plan->vector_floats, plan->parts,
     plan->part_floats);
    store(launch, begin, end, sums);
}

RY_CPU_KERNEL(conv_bwd_weights_f32_depthwise, conv, strict, .simd = RY_SIMD,
              .applicable = ry_wgrad_depthwise_takes, .knobs = ry_wgrad_depthwise_knobs,
              .knob_count = WGRAD_DEPTHWISE_KNOBS, .values = ry_wgrad_depthwise_values,
              .prepare = ry_wgrad_depthwise_prepare, .initialise = ry_wgrad_depthwise_initialise,
              .run = run);
