/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution, and grouped convolution with few channels, along channels
 * (depthwise_nhwc_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/simd/simd.h"

#include <assert.h>

typedef depthwise_work work;

/* Row 0 of a slice of x, or of its place in the ring, at the task's first channel. */
static const float *slice_of(const work *w, int64_t z)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    if (plan->staged) {
        return w->ring + (plan->slices == 1 ? 0 : z % plan->slices) * plan->plane;
    }
    return (const float *)w->launch->in[0] + w->image * g->x_batch + z * g->x_step[0] + w->input;
}

/* Floats from row 0 of a slice to row y. */
static int64_t row_at(const depthwise_nhwc_plan *plan, int64_t y)
{
    const ry_conv_geometry *g = &plan->geometry;
    return !plan->staged ? y * g->x_step[1]
                         : (y < plan->ring ? y : y % plan->ring) * g->in[2] * plan->inputs;
}

static int64_t pixel_step(const work *w)
{
    return w->plan->staged ? w->plan->inputs : w->plan->geometry.x_step[2];
}

/* `row`: NULL: it is not inside. */
static const float **fill_pixels(const work *w, const float *row, int64_t x, int64_t step,
                                 int64_t count, const float **to)
{
    const int64_t pixel = pixel_step(w), end = w->plan->geometry.in[2];
    for (int64_t q = 0; q < count; q++, x += step) {
        to[q] = row && (uint64_t)x < (uint64_t)end ? row + x * pixel : w->zeros;
    }
    return to + count;
}

/* The block of pixels of a line that begins with number `q` of a class of columns. */
typedef struct position {
    int64_t z, y;
    depthwise_inside slices, rows;
    int64_t class, q, height;
} position;

static int64_t column_of(const depthwise_nhwc_plan *plan, const position *at, int64_t p)
{
    return at->class + (at->q + p) * plan->axis[2].classes;
}

/* Where pixel 0 reads with its first tap. */
static int64_t first_read(const depthwise_nhwc_plan *plan, const position *at)
{
    return plan->axis[2].class[at->class].at + at->q * plan->axis[2].move;
}

/* The rows of the window that the table has, and where their weights are. */
static void set_shape(const work *w, depthwise_block *b, const position *at, int64_t first,
                      int64_t count)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const depthwise_axis *axis = plan->axis;
    const depthwise_class *slices = at->slices.class, *rows = at->rows.class,
                          *columns = &axis[2].class[at->class];
    const int64_t classes =
        slices->packed * axis[1].taps * axis[2].taps +
        slices->taps * (rows->packed * axis[2].taps + rows->taps * columns->packed);
    const int64_t tap =
        classes + (at->slices.first * rows->taps + (at->height == 2 ? 0 : first)) * columns->taps;
    b->weight = (const float *)w->launch->packed + w->channel / plan->lanes * RY_W +
                tap * plan->packed_step;
    b->slices = at->slices.count;
    b->rows = count;
    b->first_row = first;
    b->line_rows = rows->taps;
    b->columns = columns->taps;
    b->row_step = plan->field;
    b->slice_step = count * b->row_step;
    b->slice_taps = rows->taps * columns->taps;
}

/* The rows of the window, or of two lines', that a block's table has: those inside x, or all where
 * the variant has no loop over them. */
static void find_rows(const depthwise_nhwc_plan *plan, const position *at, int64_t *first,
                      int64_t *count)
{
    const depthwise_axis *axis = &plan->axis[1];
    *first = at->rows.first;
    *count = at->rows.count;
    if (at->height == 2) {
        const ry_window_range inside =
            ry_window_inside(axis->in, at->rows.at, axis->apart, plan->table_rows);
        *first = plan->window == 3 ? 0 : inside.begin;
        *count = plan->window == 3 ? plan->table_rows : inside.end - inside.begin;
    }
}

/* The addresses of a block. */
static void make_table(const work *w, depthwise_block *b, const position *at)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const depthwise_axis *axis = plan->axis;
    const int64_t x = first_read(plan, at);
    int64_t first, count;
    find_rows(plan, at, &first, &count);
    const float **to = w->table;
    for (int64_t i = 0; i < at->slices.count; i++) {
        const int64_t z = at->slices.at + (at->slices.first + i) * axis[0].apart;
        const float *slice = slice_of(w, z);
        for (int64_t j = first; j < first + count; j++) {
            const int64_t y = at->rows.at + j * axis[1].apart;
            const bool is_inside = y >= 0 && y < plan->geometry.in[1];
            to = fill_pixels(w, is_inside ? slice + row_at(plan, y) : NULL, x, plan->unit,
                             plan->field, to);
        }
    }
    set_shape(w, b, at, first, count);
    b->shift = 0;
}

/* An address that is outside what `x` points to until a block's shift is added. */
static const float *moved(const float *x, int64_t by)
{
    return (const float *)((uintptr_t)x + (uintptr_t)by * sizeof *x);
}

/* Entries first to end - 1 of each row of a table that slides: `outside`, or (NULL) the pixels of
 * the anchor's first block. */
static void set_entries(const work *w, const position *at, int64_t first, int64_t end,
                        const float *outside)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const depthwise_axis *axis = plan->axis;
    const int64_t step = plan->unit * pixel_step(w),
                  rows = at->height == 2 ? plan->table_rows : at->rows.class->taps;
    const int64_t start = axis[2].class[0].at * pixel_step(w);
    const float **to = w->table;
    for (int64_t i = 0; i < at->slices.count; i++) {
        const float *slice =
            moved(slice_of(w, at->slices.at + (at->slices.first + i) * axis[0].apart), start);
        for (int64_t j = 0; j < rows; j++, to += plan->field) {
            const float *row = moved(slice, row_at(plan, w->anchor + j * axis[1].apart));
            for (int64_t q = first; q < end; q++) {
                to[q] = outside ? outside : moved(row, q * step);
            }
        }
    }
}

static void run_block(const depthwise_nhwc_plan *plan, const depthwise_block *b, int64_t height)
{
    if (plan->sources) {
        RY_ISA_SYMBOL(depthwise_nhwc_permuted)
        (b, plan->sources, plan->window, plan->stride, height, plan->pixels);
    } else {
        RY_ISA_SYMBOL(depthwise_nhwc_block)(b, plan->window, plan->stride, height, plan->pixels);
    }
}

/* A table that slides from block to block, and from line to line of a slice where a ring's rows do
 * not turn, begins with this one. */
static void anchor(work *w, depthwise_block *b, const position *at)
{
    const bool line_interleave = w->plan->staged && w->plan->ring < w->plan->geometry.in[1];
    if (w->anchored != at->height || w->anchor_slice != at->z ||
        (line_interleave && w->anchor != at->rows.at)) {
        w->anchored = at->height;
        w->anchor = at->rows.at;
        w->anchor_slice = at->z;
        set_shape(w, b, at, 0, at->height == 2 ? w->plan->table_rows : at->rows.count);
        set_entries(w, at, 0, w->plan->field, NULL);
    }
}

/* A block that reaches out of x's columns, and has its pixel 0 there: entries outside are changed
 * for it and changed back. */
static void run_edge(const work *w, depthwise_block *b, int64_t x, const position *at)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const int64_t field = plan->field;
    const ry_window_range inside = ry_window_inside(plan->axis[2].in, x, plan->unit, field);
    const float *zeros = moved(w->zeros, -b->shift);
    if (inside.begin > 0) {
        set_entries(w, at, 0, inside.begin, zeros);
    }
    if (inside.end < field) {
        set_entries(w, at, inside.end, field, zeros);
    }
    run_block(plan, b, at->height);
    if (inside.begin > 0) {
        set_entries(w, at, 0, inside.begin, NULL);
    }
    if (inside.end < field) {
        set_entries(w, at, inside.end, field, NULL);
    }
}

/* Where a block writes. */
static void set_outputs(const work *w, depthwise_block *b, const position *at, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t *step = plan->phase.y_step, pixels = plan->pixels,
                  column = column_of(plan, at, 0);
    float *to = (float *)w->launch->out[0] + w->image * g->y_batch + w->channel + at->z * step[0] +
                at->y * step[1] + column * step[2];
    int64_t row = plan->line_interleave * step[1], pixel = plan->axis[2].classes * step[2];
    if (plan->planes_out) {
        to = sums + column * plan->sum_step;
        row = g->out[2] * plan->sum_step;
        pixel = plan->axis[2].classes * plan->sum_step;
    } else if (plan->through) {
        to = sums;
        row = pixels * plan->sum_step;
        pixel = plan->sum_step;
    }
    const int64_t full =
        ry_min(pixels, (g->out[2] - column + plan->axis[2].classes - 1) / plan->axis[2].classes);
    for (int64_t i = 0; i < at->height; i++, to += row) {
        for (int64_t p = 0; p < pixels; p++) {
            b->to[i * pixels + p] = p < full ? to + p * pixel : w->dump;
        }
    }
    b->to_shift = 0;
}

/* Are all rows of a table inside x? */
static bool reads_inside(const depthwise_nhwc_plan *plan, const position *at)
{
    return at->rows.at >= 0 &&
           at->rows.at + (plan->table_rows - 1) * plan->axis[1].apart < plan->axis[1].in;
}

/* The columns of a class. */
static void run_class(const work *w, depthwise_block *b, position *at, int64_t line, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const int64_t columns = depthwise_axis_outputs(&plan->axis[2], at->class),
                  x_step = plan->pixels * plan->axis[2].move * pixel_step(w);
    const int64_t step = plan->planes_out ? plan->sum_step
                         : plan->through  ? 0
                                          : plan->phase.y_step[2];
    /* a block that reads no pixel outside x, in the rows that it does not leave out, moves on from
     * the one before */
    const bool lines = at->height == 1 || plan->window > 3 || reads_inside(plan, at);
    const int64_t field = (plan->pixels - 1) * plan->axis[2].move +
                          (plan->axis[2].class[at->class].taps - 1) * plan->axis[2].apart;
    int64_t x = plan->axis[2].class[at->class].at;
    bool within = false;
    b->fresh = 0;
    for (at->q = 0; at->q < columns;
         at->q += plan->pixels, x += plan->pixels * plan->axis[2].move) {
        const bool still = within;
        within = lines && x >= 0 && x + field < plan->axis[2].in;
        if (still && within) {
            b->shift += x_step;
        } else {
            make_table(w, b, at);
        }
        if (at->q > 0 && at->q + plan->pixels <= columns) {
            b->to_shift += plan->pixels * plan->axis[2].classes * step;
        } else {
            set_outputs(w, b, at, sums);
        }
        run_block(plan, b, at->height);
        for (int64_t i = 0; plan->through && !plan->planes_out && i < at->height * plan->pixels;
             i++) {
            if (b->to[i] != w->dump) {
                assert(b->to[i]); /* set_outputs sets them all */
                const int64_t column = column_of(plan, at, i % plan->pixels);
                RY_ISA_SYMBOL(depthwise_nhwc_finish_pixel)
                (w, line + i / plan->pixels * plan->line_interleave, column, b->to[i]);
            }
        }
    }
}

/* A line, or two, of which all rows are inside x, by a table that slides. */
static void run_sliding(work *w, depthwise_block *b, position *at, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t pixels = plan->pixels, columns = g->out[2], in = g->in[2], height = at->height,
                  pixel = pixel_step(w);
    const int64_t move = pixels * plan->axis[2].move,
                  y_step = pixels * (plan->planes_out ? plan->sum_step : plan->phase.y_step[2]);
    const int64_t last = (plan->field - 1) * plan->unit;
    anchor(w, b, at);
    b->fresh = plan->fetches && b->slices > 0 ? ry_min(b->rows, height * g->stride[1]) : 0;
    b->prefetch_x = move * pixel;
    b->prefetch_y = y_step;
    int64_t x = plan->axis[2].class[0].at;
    b->shift = (at->rows.at - w->anchor) * (plan->staged ? g->in[2] * pixel : g->x_step[1]);
    for (at->q = 0; at->q < columns; at->q += pixels, x += move, b->shift += move * pixel) {
        if (at->q > 0 && at->q + pixels <= columns) {
            b->to_shift += y_step;
        } else {
            set_outputs(w, b, at, sums);
        }
        if (x >= 0 && x + last < in) {
            run_block(plan, b, height);
        } else {
            run_edge(w, b, x, at);
        }
    }
}

/* Does a line read all rows of the window, or do two, by a table that may slide? */
static bool slides(const depthwise_nhwc_plan *plan, const position *at)
{
    if (!plan->slides || at->height == 1) {
        return plan->slides && at->rows.first == 0 && at->rows.count == at->rows.class->taps;
    }
    return reads_inside(plan, at);
}

/* Computes one line or two; `sums`: the block's sums in scratch. */
static void run_line(work *w, depthwise_block *b, int64_t line, int64_t height, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const int64_t rows = plan->geometry.out[1];
    position at = {.z = line / rows, .y = line % rows, .height = height};
    at.slices = ry_depthwise_axis_inside(&plan->axis[0], at.z);
    at.rows = ry_depthwise_axis_inside(&plan->axis[1], at.y);
    if (slides(plan, &at)) {
        run_sliding(w, b, &at, sums);
        return;
    }
    w->anchored = 0;
    for (; at.class < plan->axis[2].classes; at.class ++) {
        run_class(w, b, &at, line, sums);
    }
}

/* What each vector of output channels reads. */
static void set_readings(const work *w)
{
    const depthwise_nhwc_plan *plan = w->plan;
    depthwise_reading *reading = w->reading;
    for (int64_t c = 0; c < w->channels; c += plan->lanes, reading++) {
        const int64_t turn = (w->channel + c) % plan->multiplier,
                      last = ry_min(w->channels - c, plan->lanes) - 1;
        *reading =
            (depthwise_reading){.at = (w->channel + c) / plan->multiplier * plan->depth - w->input,
                                .lane = w->lanes + turn * RY_W,
                                .last = (turn + last) / plan->multiplier * plan->depth};
    }
}

/* Lines, `plan->turns` apart, of the task's channels. */
static void run_lines(work *w, depthwise_block *b, int64_t first_line, int64_t end_line)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t line = first_line, held = first_line; line < end_line;) {
        const int64_t y = line % g->out[1],
                      left = ry_ceil_div(ry_min(end_line - line, g->out[1] - y),
                                         plan->line_interleave);
        const int64_t height = ry_min(plan->height, left);
        if (plan->staged) {
            RY_ISA_SYMBOL(depthwise_nhwc_stage)(w, line / g->out[1], y, height);
        }
        run_line(w, b, line, height,
                 w->sums + (plan->planes_out ? (line - held) * g->out[2] * plan->sum_step : 0));
        if (plan->activated) {
            RY_ISA_SYMBOL(depthwise_nhwc_activate)(w, line, height);
        }
        line += height * plan->line_interleave;
        if (plan->planes_out && (line == end_line || line - held + plan->height > plan->hold)) {
            RY_ISA_SYMBOL(depthwise_nhwc_finish_planes)(w, held, line - held);
            held = line;
        }
    }
}

static void run_channels(work *w, int64_t first_line, int64_t end_line)
{
    const depthwise_nhwc_plan *plan = w->plan;
    depthwise_block b = {.x = w->table,
                         .bias = (const float *)w->launch->packed +
                                 plan->depth * plan->taps * plan->packed_step +
                                 w->channel / plan->lanes * RY_W,
                         .packed_step = plan->packed_step,
                         .taps = plan->taps,
                         .channels = w->channels,
                         .lanes = plan->lanes,
                         .pixel_step = plan->pixel_step,
                         .tap_step = plan->tap_step,
                         .depth = plan->depth,
                         .reading = w->reading,
                         .low = -__builtin_inff(),
                         .high = __builtin_inff()};
    if (!plan->through || (plan->planes_out && !ry_problem_has_input(w->launch->problem, 3))) {
        ry_activation_bounds(w->activation, &b.low, &b.high);
    }
    w->staged_end = 0;
    w->anchored = 0;
    for (int64_t i = 0; i < plan->line_interleave; i++) {
        run_lines(w, &b, first_line + i, end_line);
    }
}

/* Lines [first_line, end_line) of an image, for the output channels [first, end). */
static void run_part(const ry_cpu_launch *launch, int64_t image, int64_t first_line,
                     int64_t end_line, int64_t first, int64_t end, char *scratch)
{
    const depthwise_nhwc_plan *plan = launch->state;
    work w = {.plan = plan,
              .launch = launch,
              .image = image,
              .activation = ry_conv_activation(launch->problem),
              .zeros = (float *)(void *)scratch,
              .dump = RY_AT(float, scratch, plan->dump),
              .sums = RY_AT(float, scratch, plan->sums),
              .ring = RY_AT(float, scratch, plan->ring_at),
              .table = RY_AT(const float *, scratch, plan->table),
              .reading = RY_AT(depthwise_reading, scratch, plan->vectors),
              .lanes = RY_AT(int32_t, scratch, plan->at)};
    memset(w.zeros, 0, plan->dump);
    for (int64_t i = 0; plan->sources && i < plan->multiplier * RY_W; i++) {
        /* lanes behind the last real lane repeat its read */
        w.lanes[i] = (int32_t)((i / RY_W + ry_min(i % RY_W, plan->lanes - 1)) / plan->multiplier *
                               plan->depth);
    }
    w.stage_end = plan->geometry.in[1];
    if (plan->geometry.out[0] == 1) {
        const depthwise_axis *axis = &plan->axis[1];
        w.stage_first =
            ry_max(0, ry_min(w.stage_end, first_line / axis->classes * axis->move + axis->low));
        w.stage_end =
            ry_max(w.stage_first, ry_min(w.stage_end, (end_line - 1) / axis->classes * axis->move +
                                                          axis->high + 1));
    }
    for (w.channel = first; w.channel < end; w.channel += plan->channels) {
        w.channels = ry_min(end - w.channel, plan->channels);
        w.input = w.channel / plan->multiplier * plan->depth;
        w.inputs = ((w.channel + w.channels - 1) / plan->multiplier + 1) * plan->depth - w.input;
        if (plan->sources) {
            set_readings(&w);
        }
        run_channels(&w, first_line, end_line);
    }
}

void RY_ISA_SYMBOL(depthwise_nhwc_lines)(const ry_cpu_launch *launch, int64_t image, int64_t first,
                                         int64_t end, char *scratch)
{
    const depthwise_nhwc_plan *plan = launch->state;
    run_part(launch, image, first, end, 0, plan->outputs, scratch);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nhwc_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->cut, task, range);
    run_part(launch, range[0].first, range[1].first, range[1].first + range[1].count,
             range[2].first, range[2].first + range[2].count, launch->scratch);
}

/* Full vectors of channels and blocks of pixels. */
RY_CONV_KERNELS(depthwise_nhwc, .applicable = RY_ISA_JOIN(ry_depthwise_nhwc_takes_, RY_W),
                .knobs = ry_depthwise_nhwc_knobs, .knob_count = NHWC_KNOBS,
                .values = ry_depthwise_nhwc_values, .prepare = ry_depthwise_nhwc_prepare,
                .initialise = ry_depthwise_nhwc_initialise,
                .pack = RY_ISA_SYMBOL(depthwise_nhwc_pack), .run = run,
                .packed_inputs = 1u << 1 | 1u << 2, .packing = ry_depthwise_nhwc_packing);
