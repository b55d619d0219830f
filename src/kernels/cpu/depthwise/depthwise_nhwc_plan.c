/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, tasks and scratch of the depthwise convolution along channels. */
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

#include "base/whole.h"
#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <string.h>

enum {
    TASK_WORK = 120000, /* multiply-adds of a task at least, where there is so much: some five microseconds */
    TASKS_ENOUGH = 32,
    TASK_ROWS = 8,            /* a task reads the rows that its window reaches over once more than it computes */
    BLOCK_MOST = 20 * 1024,   /* bytes that a block reads and writes: they stay in a first-level cache */
    RING_MOST = 256 * 1024,   /* bytes of staged rows: they stay in a second-level cache */
    RING_WHOLE = 64 * 1024,   /* narrow planes of so many bytes are staged whole: their transposed squares do not end with the rows */
    RING_SUITS = 4096 * 1024, /* a vector's slices must not be larger */
    HOLD_PIXELS = 64,         /* narrow lines are transposed back so many pixels at a time */
    TAPS_MOST = 1024
};

/* Element i of a vector of outputs, from the first channel of its group on, at most. */
static int64_t last_lane(const ry_conv_geometry *g, int width)
{
    const int64_t each = g->channels_out, turn = each % width == 0 ? each - width : width % each == 0 ? 0 : each - 1;
    return (turn + width - 1) / each * g->channels_in;
}

static int64_t slice_reach(const depthwise_nhwc_plan *plan)
{
    return plan->geometry.in[0] == 1 ? 1 : (plan->geometry.kernel[0] - 1) * plan->dilation[0] + 1;
}

/* Where the channels of x and of y lie: side by side, or in planes whose rows have their pixels side by side. */
static bool find_layout(const ry_problem *problem, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_phase *at = &plan->phase;
    const bool residual = ry_problem_has_input(problem, 3);
    plan->planes_in = g->x_channel != 1;
    plan->planes_out = g->y_channel != 1 || (residual && g->r_channel != 1);
    plan->dense_in = g->x_step[1] == g->in[2] || g->in[1] == 1;
    plan->dense_out = (at->y_step[1] == g->out[2] || g->out[1] == 1) && (at->y_step[0] == g->out[1] * g->out[2] || g->out[0] == 1);
    if (residual) {
        plan->dense_out =
            plan->dense_out && (at->r_step[1] == g->out[2] || g->out[1] == 1) && (at->r_step[0] == g->out[1] * g->out[2] || g->out[0] == 1);
    }
    if (plan->planes_in && (g->channels_in > 1 || (g->x_step[2] != 1 && g->in[2] > 1))) {
        return false;
    }
    return !plan->planes_out || ((at->y_step[2] == 1 || g->out[2] == 1) && (!residual || at->r_step[2] == 1 || g->out[2] == 1));
}

bool depthwise_nhwc_suits(const ry_problem *problem, int width)
{
    if (!depthwise_is(problem, NHWC_DEPTH)) {
        return false;
    }
    depthwise_nhwc_plan plan;
    memset(&plan, 0, sizeof plan);
    ry_conv_geometry *g = &plan.geometry;
    depthwise_read(problem, g, &plan.phase, plan.before, plan.dilation);
    const int64_t slices = g->in[0] == 1 ? 0 : slice_reach(&plan) * g->in[1] * g->in[2] * width * (int64_t)sizeof(float);
    /* one tap does not repay the permutations */
    return find_layout(problem, &plan) && (g->channels_in == 1 || g->taps > 1) && g->taps <= TAPS_MOST &&
           last_lane(g, width) + g->channels_in <= 2 * width && slices <= RING_SUITS;
}

static void choose_block(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool odd = g->kernel[2] == 3 || (!plan->mix && (g->kernel[2] == 5 || g->kernel[2] == 7));
    plan->window = odd && g->kernel[1] == g->kernel[2] && plan->dilation[2] == 1 && g->stride[2] <= 2 ? g->kernel[2] : 0;
    /* two rows share what they read, and fill 14 of 32 registers with sums */
    const bool two = plan->window == 3 && width == 16 && plan->dilation[1] == 1 && g->stride[1] == g->stride[2];
    plan->height = two && g->out[1] > 1 ? 2 : 1;
    plan->pixels = NHWC_PIXELS;
    for (int64_t pixels = NHWC_PIXELS; pixels >= NHWC_FEWEST; pixels--) {
        if (ry_whole(g->out[2], pixels) < ry_whole(g->out[2], plan->pixels)) {
            plan->pixels = pixels;
        }
    }
    /* with unit stride taps share addresses */
    const bool shared = plan->window || g->stride[2] == 1;
    plan->tap_step = shared ? plan->dilation[2] : plan->pixels;
    plan->reach = shared ? (plan->pixels - 1) * g->stride[2] + (g->kernel[2] - 1) * plan->dilation[2] + 1 : g->kernel[2] * plan->pixels;
    plan->table_rows = plan->window == 3 ? (plan->height - 1) * g->stride[1] + 3 : g->kernel[1];
}

/* Channels of x that `channels` neighbouring outputs read, at most, whole vectors. */
static int64_t inputs_of(const depthwise_nhwc_plan *plan, int64_t channels, int width)
{
    return plan->mix ? ry_whole((ry_parts(channels - 1, plan->multiplier) + 1) * plan->depth, width) : channels;
}

static void choose_ring(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->slices = slice_reach(plan);
    plan->ring = (plan->height - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[1] + 1;
    const bool whole = plan->planes_in && plan->dense_in && g->in[1] * g->in[2] * width * (int64_t)sizeof(float) <= RING_WHOLE;
    if (g->in[0] > 1 || plan->ring > g->in[1] || whole) {
        plan->ring = g->in[1];
    }
}

/* Whose sums lie in scratch until they are transposed takes channels apart before lines. */
static void choose_tasks(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t all = g->batch * plan->lines;
    const int64_t enough = ry_most(1, ry_least(TASKS_ENOUGH, all * g->out[2] * plan->packed_step * g->taps * plan->depth / TASK_WORK));
    if (plan->staged) {
        const int64_t parts = ry_least(ry_parts(enough, g->batch), ry_parts(plan->outputs, width));
        plan->part = ry_whole(ry_parts(plan->outputs, parts), width);
        plan->channel_parts = ry_parts(plan->outputs, plan->part);
        const int64_t rows = ry_parts(plan->lines, ry_parts(enough, g->batch * plan->channel_parts));
        plan->rows = ry_least(plan->lines, ry_most(2 * g->kernel[1], ry_whole(rows, plan->height)));
    } else {
        plan->rows = ry_least(plan->lines, ry_most(TASK_ROWS, ry_whole(ry_parts(all, enough), plan->height)));
        const int64_t parts = ry_most(1, ry_parts(enough, g->batch * ry_parts(plan->lines, plan->rows)));
        plan->part = ry_whole(ry_parts(plan->outputs, parts), width);
        plan->channel_parts = ry_parts(plan->outputs, plan->part);
    }
    plan->row_blocks = ry_parts(plan->lines, plan->rows);
    plan->tasks = g->batch * plan->row_blocks * plan->channel_parts;
}

static void choose_channels(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t size = (int64_t)sizeof(float), reach = (plan->pixels - 1) * g->stride[2] + (g->kernel[2] - 1) * plan->dilation[2] + 1;
    /* a vector's pixels that a block reads and writes, and weights */
    const int64_t read = ry_parts(reach * plan->table_rows * g->kernel[0] * plan->depth, plan->multiplier);
    const int64_t each = read + g->taps * plan->depth + plan->height * plan->pixels;
    plan->channels = ry_most(1, BLOCK_MOST / size / (each * width)) * width;
    if (plan->staged) {
        const int64_t staged = plan->slices * plan->ring * g->in[2] * inputs_of(plan, width, width);
        plan->channels = ry_least(plan->channels, ry_most(1, RING_MOST / size / staged) * width);
    }
    plan->channels = ry_least(plan->part, plan->channels);
    plan->channels = ry_whole(ry_parts(plan->part, ry_parts(plan->part, plan->channels)), width);
    plan->inputs = inputs_of(plan, plan->channels, width);
    plan->plane = plan->ring * g->in[2] * plan->inputs;
    plan->hold = plan->height;
    if (plan->planes_out && plan->dense_out) {
        plan->hold = ry_most(plan->height, ry_least(plan->rows, ry_whole(ry_parts(HOLD_PIXELS, g->out[2]), plan->height)));
    }
}

static void place(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t size = (int64_t)sizeof(float), held = plan->planes_out ? plan->hold * g->out[2] + width : plan->height * plan->pixels;
    size_t at = ry_aligned((size_t)((plan->mix ? plan->inputs + NHWC_DEPTH : plan->channels) * size));
    plan->nobody = at, at += ry_aligned((size_t)(plan->channels * size));
    plan->sums = at, at += plan->through ? ry_aligned((size_t)(held * plan->channels * size)) : 0;
    plan->ring_at = at, at += plan->staged ? ry_aligned((size_t)(plan->slices * plan->plane * size)) : 0;
    plan->table = at, at += ry_aligned((size_t)(g->kernel[0] * plan->table_rows * plan->reach) * sizeof(float *));
    plan->vectors = at, at += plan->mix ? ry_aligned((size_t)(plan->channels / width) * sizeof(depthwise_reading)) : 0;
    plan->at = at, at += plan->mix ? ry_aligned((size_t)(plan->multiplier * width) * sizeof(int32_t)) : 0;
    plan->scratch = at;
}

/* Taps that read inside x along an axis, on average over a line. */
static double taps_inside(const depthwise_nhwc_plan *plan, int axis)
{
    const ry_conv_geometry *g = &plan->geometry;
    int64_t all = 0;
    for (int64_t r = 0; r < g->kernel[axis]; r++) {
        const int64_t at = r * plan->dilation[axis] - plan->before[axis];
        const int64_t first = at < 0 ? ry_parts(-at, g->stride[axis]) : 0;
        const int64_t end = g->in[axis] > at ? ry_parts(g->in[axis] - at, g->stride[axis]) : 0;
        all += ry_most(0, ry_least(end, g->out[axis]) - first);
    }
    return (double)all / (double)g->out[axis];
}

/* Cycles of a vector as they were measured on Zen 4: of a tap, of a pixel's start and end, of staging, of planes and conversions behind the
 * sums. */
static double count_cycles(int width, const depthwise_nhwc_plan *plan)
{
    static const double tap[3][3] = {
        {1.2, 1.4, 2.0}, {1.4, 1.8, 3.2}, {2.0, 2.8, 4.2}}; /* [mix][window with unit stride, with stride 2, any window] */
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)(g->batch * ry_parts(plan->outputs, width));
    const double area = taps_inside(plan, 0) * (plan->window == 3 ? 3.0 : taps_inside(plan, 1)) * (double)g->kernel[2];
    const double each = area * (double)plan->depth * tap[plan->mix][plan->window == 0 ? 2 : g->stride[2] > 1];
    const double pixels = (double)(plan->lines * ry_whole(g->out[2], plan->pixels));
    const double end = 4.0 + (plan->planes_out ? 8.0 : plan->through ? 10.0 : 0.0);
    const double read = (double)(g->in[0] * g->in[1] * g->in[2]) * (double)plan->depth / (double)plan->multiplier;
    const double tables = (double)(plan->slices * plan->table_rows * plan->reach) * pixels / (double)plan->pixels;
    return vectors * (pixels * (each + end) +
                      read * (plan->planes_in ? 6.0
                              : plan->staged  ? 3.0
                                              : 0.0) +
                      0.5 * tables * (double)width / (double)plan->channels);
}

void depthwise_nhwc_plan_make(const ry_problem *problem, int width, depthwise_nhwc_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    depthwise_read(problem, g, &plan->phase, plan->before, plan->dilation);
    find_layout(problem, plan);
    plan->depth = g->channels_in;
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->packed_step = ry_whole(plan->outputs, width);
    plan->lines = g->out[0] * g->out[1];
    plan->mix = plan->depth == 1 && plan->multiplier == 1 ? 0 : last_lane(g, width) < width ? 1 : 2;
    choose_block(width, plan);
    float low, high;
    plan->staged = plan->planes_in || ry_type_of(&problem->in[0]) != RY_f32;
    plan->through = plan->planes_out || ry_type_of(&problem->out[0]) != RY_f32 || ry_problem_has_input(problem, 3) ||
                    !ry_activation_bounds(ry_conv_activation(problem), &low, &high);
    choose_ring(width, plan);
    choose_tasks(width, plan);
    choose_channels(width, plan);
    place(width, plan);
    plan->cycles = count_cycles(width, plan);
}
