/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: depthwise convolution, and grouped convolution with few channels, along channels (depthwise_nhwc_plan.h). */
#include "base/whole.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/depthwise/depthwise_nhwc.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <assert.h>

typedef depthwise_work work;

/* What is inside x of a window's slices, or rows: from `first` on. */
typedef struct range {
    int64_t first, count;
} range;

static range inside(const depthwise_nhwc_plan *plan, int axis, int64_t line)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t at = line * g->stride[axis] - plan->before[axis], step = plan->dilation[axis];
    const int64_t first = at < 0 ? ry_least(ry_parts(-at, step), g->kernel[axis]) : 0;
    const int64_t end = g->in[axis] > at ? ry_least(ry_parts(g->in[axis] - at, step), g->kernel[axis]) : 0;
    return (range){first, ry_most(0, end - first)};
}

/* Pixel 0 of a row of x at the task's first channel; NULL: the row is not inside. */
static const float *row_of(const work *w, int64_t z, int64_t y)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    if (y < 0 || y >= g->in[1]) {
        return NULL;
    }
    if (plan->staged) {
        return w->ring + z % plan->slices * plan->plane + y % plan->ring * g->in[2] * plan->inputs;
    }
    return (const float *)w->launch->in[0] + w->image * g->x_batch + z * g->x_step[0] + y * g->x_step[1] + w->input;
}

static int64_t pixel_step(const work *w)
{
    return w->plan->staged ? w->plan->inputs : w->plan->geometry.x_step[2];
}

static const float **fill_pixels(const work *w, const float *row, int64_t x, int64_t step, int64_t count, const float **to)
{
    const int64_t pixel = pixel_step(w), end = w->plan->geometry.in[2];
    for (int64_t q = 0; q < count; q++, x += step) {
        to[q] = row && (uint64_t)x < (uint64_t)end ? row + x * pixel : w->zeros;
    }
    return to + count;
}

/* The addresses of a block; what is outside x is left out, but for the rows of windows of 3. */
static void make_table(const work *w, depthwise_block *b, int64_t z, int64_t y, int64_t column, int64_t height)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const range slices = inside(plan, 0, z);
    range rows = inside(plan, 1, y);
    if (plan->window == 3) {
        rows = (range){0, (height - 1) * g->stride[1] + 3};
    }
    const int64_t x = column * g->stride[2] - plan->before[2];
    const bool shared = plan->window || g->stride[2] == 1;
    const float **to = w->table;
    for (int64_t i = slices.first; i < slices.first + slices.count; i++) {
        const int64_t in_z = z * g->stride[0] - plan->before[0] + i * plan->dilation[0];
        for (int64_t j = rows.first; j < rows.first + rows.count; j++) {
            const float *row = row_of(w, in_z, y * g->stride[1] - plan->before[1] + j * plan->dilation[1]);
            if (shared) {
                to = fill_pixels(w, row, x, 1, plan->reach, to);
                continue;
            }
            for (int64_t s = 0; s < g->kernel[2]; s++) {
                to = fill_pixels(w, row, x + s * plan->dilation[2], g->stride[2], plan->pixels, to);
            }
        }
    }
    const int64_t first = (slices.first * g->kernel[1] + rows.first) * g->kernel[2];
    b->weight = (const float *)w->launch->packed + w->channel + first * plan->packed_step;
    b->slices = slices.count;
    b->rows = rows.count;
    b->slice_step = rows.count * plan->reach;
    b->shift = 0;
}

/* Where a block writes. */
static void set_outputs(const work *w, depthwise_block *b, int64_t z, int64_t y, int64_t column, int64_t height, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *at = &plan->phase;
    const int64_t pixels = plan->pixels, left = g->out[2] - column;
    float *to =
        (float *)w->launch->out[0] + w->image * g->y_batch + w->channel + z * at->y_step[0] + y * at->y_step[1] + column * at->y_step[2];
    int64_t row = at->y_step[1], pixel = at->y_step[2];
    if (plan->through) {
        to = plan->planes_out ? sums + column * plan->channels : sums;
        row = (plan->planes_out ? g->out[2] : pixels) * plan->channels;
        pixel = plan->channels;
    }
    for (int64_t i = 0; i < height; i++) {
        for (int64_t p = 0; p < pixels; p++) {
            b->to[i * pixels + p] = p >= left ? w->nobody : to + i * row + p * pixel;
        }
    }
    b->to_shift = 0;
}

/* Does a block read no pixel outside x in the rows that it does not leave out? */
static bool is_inside(const depthwise_nhwc_plan *plan, int64_t y, int64_t column, int64_t height)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t x = column * g->stride[2] - plan->before[2], first = y * g->stride[1] - plan->before[1];
    const int64_t last = first + (height - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[1];
    const int64_t last_x = x + (plan->pixels - 1) * g->stride[2] + (g->kernel[2] - 1) * plan->dilation[2];
    return x >= 0 && last_x < g->in[2] && (plan->window != 3 || (first >= 0 && last < g->in[1]));
}

static void run_block(const depthwise_nhwc_plan *plan, const depthwise_block *b, int64_t height)
{
    if (plan->mix) {
        RY_ISA_SYMBOL(depthwise_nhwc_mixed)(b, plan->mix, plan->window, plan->geometry.stride[2], height, plan->pixels);
    } else {
        RY_ISA_SYMBOL(depthwise_nhwc_block)(b, plan->window, plan->geometry.stride[2], height, plan->pixels);
    }
}

/* One line, or two; `sums`: where its own are in scratch. */
static void run_line(const work *w, depthwise_block *b, int64_t line, int64_t height, float *sums)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t z = line / g->out[1], y = line % g->out[1];
    const int64_t x_step = plan->pixels * g->stride[2] * pixel_step(w);
    const int64_t to_step = !plan->through ? plan->pixels * plan->phase.y_step[2] : plan->planes_out ? plan->pixels * plan->channels : 0;
    bool within = false;
    for (int64_t column = 0; column < g->out[2]; column += plan->pixels) {
        const bool still = within;
        within = is_inside(plan, y, column, height);
        if (still && within) {
            b->shift += x_step;
        } else {
            make_table(w, b, z, y, column, height);
        }
        if (column > 0 && column + plan->pixels <= g->out[2]) {
            b->to_shift += to_step;
        } else {
            set_outputs(w, b, z, y, column, height, sums);
        }
        run_block(plan, b, height);
        for (int64_t i = 0; plan->through && !plan->planes_out && i < height * plan->pixels; i++) {
            if (b->to[i] != w->nobody) {
                assert(b->to[i]); /* set_outputs sets them all */
                RY_ISA_SYMBOL(depthwise_nhwc_finish_pixel)(w, line + i / plan->pixels, column + i % plan->pixels, b->to[i]);
            }
        }
    }
}

/* What each vector of output channels reads. */
static void set_readings(const work *w)
{
    const depthwise_nhwc_plan *plan = w->plan;
    for (int64_t c = 0; c < w->channels; c += RY_W) {
        const int64_t turn = (w->channel + c) % plan->multiplier, last = ry_least(w->channels - c, RY_W) - 1;
        w->reading[c / RY_W] = (depthwise_reading){.at = (w->channel + c) / plan->multiplier * plan->depth - w->input,
                                                   .lane = w->lanes + turn * RY_W,
                                                   .last = (turn + last) / plan->multiplier * plan->depth};
    }
}

static void run_channels(work *w, int64_t first_line, int64_t end_line)
{
    const depthwise_nhwc_plan *plan = w->plan;
    const ry_conv_geometry *g = &plan->geometry;
    depthwise_block b = {.x = w->table,
                         .bias = (const float *)w->launch->packed + plan->depth * g->taps * plan->packed_step + w->channel,
                         .packed_step = plan->packed_step,
                         .taps = g->taps,
                         .channels = w->channels,
                         .slice_taps = g->kernel[1] * g->kernel[2],
                         .row_step = plan->reach,
                         .columns = g->kernel[2],
                         .tap_step = plan->tap_step,
                         .depth = plan->depth,
                         .reading = w->reading,
                         .low = -__builtin_inff(),
                         .high = __builtin_inff()};
    if (!plan->through || (plan->planes_out && !ry_problem_has_input(w->launch->problem, 3))) {
        ry_activation_bounds(w->activation, &b.low, &b.high);
    }
    w->staged_end = 0;
    for (int64_t line = first_line, held = first_line; line < end_line;) {
        const int64_t y = line % g->out[1], height = ry_least(plan->height, ry_least(end_line - line, g->out[1] - y));
        if (plan->staged) {
            RY_ISA_SYMBOL(depthwise_nhwc_stage)(w, line / g->out[1], y, height);
        }
        run_line(w, &b, line, height, w->sums + (plan->planes_out ? (line - held) * g->out[2] * plan->channels : 0));
        line += height;
        if (plan->planes_out && (line == end_line || line - held + plan->height > plan->hold)) {
            RY_ISA_SYMBOL(depthwise_nhwc_finish_planes)(w, held, line - held);
            held = line;
        }
    }
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    const depthwise_nhwc_plan *plan = launch->state;
    char *scratch = launch->scratch + worker * launch->prepared->scratch;
    const int64_t index = (int64_t)task, part = index % plan->channel_parts, rows = index / plan->channel_parts % plan->row_blocks;
    work w = {.plan = plan,
              .launch = launch,
              .image = index / plan->channel_parts / plan->row_blocks,
              .activation = ry_conv_activation(launch->problem),
              .zeros = (float *)(void *)scratch,
              .nobody = (float *)(void *)(scratch + plan->nobody),
              .sums = (float *)(void *)(scratch + plan->sums),
              .ring = (float *)(void *)(scratch + plan->ring_at),
              .table = (const float **)(void *)(scratch + plan->table),
              .reading = (depthwise_reading *)(void *)(scratch + plan->vectors),
              .lanes = (int32_t *)(void *)(scratch + plan->at)};
    memset(w.zeros, 0, plan->nobody);
    for (int64_t i = 0; plan->mix && i < plan->multiplier * RY_W; i++) {
        w.lanes[i] = (int32_t)((i / RY_W + i % RY_W) / plan->multiplier * plan->depth);
    }
    const int64_t first = rows * plan->rows, end = ry_least(first + plan->rows, plan->lines);
    const int64_t last = ry_least((part + 1) * plan->part, plan->outputs);
    for (w.channel = part * plan->part; w.channel < last; w.channel += plan->channels) {
        w.channels = ry_least(last - w.channel, plan->channels);
        w.input = w.channel / plan->multiplier * plan->depth;
        w.inputs = ((w.channel + w.channels - 1) / plan->multiplier + 1) * plan->depth - w.input;
        if (plan->mix) {
            set_readings(&w);
        }
        run_channels(&w, first, end);
    }
}

/* A task packs the weights of one input channel of every group, [tap][output channel]; a last one the bias. */
static void pack(const ry_cpu_launch *launch, size_t task)
{
    const depthwise_nhwc_plan *plan = launch->state;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t i = (int64_t)task, taps = i < plan->depth ? g->taps : 1, area = g->kernel[1] * g->kernel[2];
    float *to = (float *)launch->packed_out + i * g->taps * plan->packed_step;
    memset(to, 0, (size_t)(taps * plan->packed_step) * sizeof *to);
    for (int64_t t = 0; t < taps; t++, to += plan->packed_step) {
        for (int64_t k = 0; k < plan->outputs; k++) {
            to[k] = i < plan->depth ? depthwise_weight(launch, k, i, t / area, t % area / g->kernel[2], t % g->kernel[2])
                                    : depthwise_bias(launch, k);
        }
    }
}

static bool applicable(const ry_problem *problem)
{
    return depthwise_nhwc_suits(problem, RY_W);
}

static rynd_status prepare(const ry_problem *problem, ry_prepared *prepared, ry_error *error)
{
    (void)error;
    depthwise_nhwc_plan plan;
    depthwise_nhwc_plan_make(problem, RY_W, &plan);
    *prepared =
        (ry_prepared){.phases = 1,
                      .tasks = {(size_t)plan.tasks},
                      .state = ry_aligned(sizeof plan),
                      .packed = ry_aligned((size_t)((plan.depth * plan.geometry.taps + 1) * plan.packed_step) * sizeof(float)),
                      .pack_tasks = (size_t)plan.depth + 1,
                      .scratch = plan.scratch,
                      .work = plan.cycles * 2 * RY_W,
                      .knob_count = 4,
                      .knobs = {{"rows", plan.rows}, {"channels", plan.channels}, {"height", plan.height}, {"pixels", plan.pixels}}};
    return RYND_OK;
}

static void initialise(const ry_problem *problem, const ry_prepared *prepared, void *state)
{
    (void)prepared;
    depthwise_nhwc_plan_make(problem, RY_W, state);
}

/* Whole vectors of channels and blocks of pixels. */
static ry_counts counts(const ry_problem *problem, const ry_prepared *prepared)
{
    (void)prepared;
    depthwise_nhwc_plan plan;
    depthwise_nhwc_plan_make(problem, RY_W, &plan);
    const ry_conv_geometry *g = &plan.geometry;
    const int64_t row = (g->out[2] + plan.pixels - 1) / plan.pixels * plan.pixels;
    return (ry_counts){2.0 * (double)(g->batch * g->out[0] * g->out[1] * row) * (double)(plan.packed_step * plan.depth * g->taps),
                       ry_problem_bytes(problem)};
}

const ry_kernel RY_ISA_SYMBOL(conv_fwd_f32_depthwise_nhwc) = {.name = "conv_fwd_f32_depthwise_nhwc_" RY_ISA_TEXT,
                                                              .op = RY_OP_conv,
                                                              .device = "cpu",
                                                              .isa = RY_ISA_ID,
                                                              .accuracy = RY_ACCURACY_strict,
                                                              .rank = 108 + 10 * (int)RY_ISA_ID,
                                                              .applicable = applicable,
                                                              .prepare = prepare,
                                                              .initialise = initialise,
                                                              .pack = pack,
                                                              .run = run,
                                                              .counts = counts,
                                                              .constant_inputs = 1u << 1 | 1u << 2};
