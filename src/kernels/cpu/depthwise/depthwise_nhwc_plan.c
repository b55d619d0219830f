/* SPDX-License-Identifier: Apache-2.0 */
/* Blocks, tasks and scratch of the depthwise convolution along channels. */
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

#include "kernels/cpu/depthwise/depthwise_problem.h"

#include <string.h>

enum {
    TASK_WORK = 120000, /* multiply-adds of a task at least, where there is so much: some five microseconds */
    TASKS_ENOUGH = 32,
    TASK_ROWS = 8,          /* a task reads the rows that its window reaches over once more than it computes */
    BLOCK_MOST = 20 * 1024, /* bytes that a block reads and writes: they stay in a first-level cache */
    RING_MOST = 256 * 1024  /* bytes of staged rows: they stay in a second-level cache */
};

static int64_t up(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Are the channels that a vector of outputs reads near enough to be picked from two vectors? Vectors start at multiples of the width. */
static bool is_near(const ry_conv_geometry *g, int width)
{
    const int64_t each = g->channels_out, turn = each % width == 0 ? each - width : width % each == 0 ? 0 : each - 1;
    return (turn + width - 1) / each * g->channels_in + g->channels_in <= 2 * width;
}

bool depthwise_nhwc_suits(const ry_problem *problem, int width)
{
    if (!depthwise_is(problem, NHWC_DEPTH)) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    /* a window of one tap does not repay the staging of a group's channels */
    return (g.channels_in == 1 || g.taps > 1) && g.x_channel == 1 && g.y_channel == 1 &&
           (!ry_problem_has_input(problem, 3) || g.r_channel == 1) && g.taps <= 1024 && is_near(&g, width);
}

static void choose_block(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool odd = g->kernel[2] == 3 || g->kernel[2] == 5 || g->kernel[2] == 7;
    plan->window = odd && g->kernel[1] == g->kernel[2] && plan->dilation[1] == 1 && g->stride[2] <= 2 ? g->kernel[2] : 0;
    /* two rows share what they read, and fill 14 of 32 registers with sums */
    const bool two = plan->window == 3 && width == 16 && plan->dilation[0] == 1 && g->stride[1] == g->stride[2];
    plan->height = two && g->out[1] > 1 ? 2 : 1;
    plan->pixels = NHWC_PIXELS;
    for (int64_t pixels = NHWC_PIXELS; pixels >= NHWC_FEWEST; pixels--) {
        if (up(g->out[2], pixels) * pixels < up(g->out[2], plan->pixels) * plan->pixels) {
            plan->pixels = pixels;
        }
    }
}

static void choose_tasks(int width, depthwise_nhwc_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t row_work = g->out[2] * plan->packed_step * g->taps * plan->depth;
    const int64_t enough = most(1, least(TASKS_ENOUGH, g->batch * g->out[1] * row_work / TASK_WORK));
    plan->rows = least(g->out[1], most(TASK_ROWS, up(up(g->batch * g->out[1], enough), plan->height) * plan->height));
    plan->row_blocks = up(g->out[1], plan->rows);
    const int64_t parts = most(1, up(enough, g->batch * plan->row_blocks));
    plan->part = up(up(plan->outputs, parts), width) * width;
    plan->channel_parts = up(plan->outputs, plan->part);
    plan->tasks = g->batch * plan->row_blocks * plan->channel_parts;
    /* pixels that a block reads and writes, and weights */
    const int64_t reach = (plan->pixels - 1) * g->stride[2] + (g->kernel[2] - 1) * plan->dilation[1] + 1;
    const int64_t each = (reach * ((plan->height - 1) * g->stride[1] + g->kernel[1]) + g->taps) * plan->depth + plan->height * plan->pixels;
    plan->channels = most(1, BLOCK_MOST / 4 / (each * width)) * width;
    if (plan->staged) {
        plan->channels = least(plan->channels, most(1, RING_MOST / 4 / (plan->depth * plan->ring * g->in[2] * width)) * width);
    }
    plan->channels = least(plan->part, plan->channels);
    plan->channels = up(up(plan->part, up(plan->part, plan->channels)), width) * width;
}

static size_t align(size_t size)
{
    return (size + RY_ALIGNMENT - 1) / RY_ALIGNMENT * RY_ALIGNMENT;
}

void depthwise_nhwc_plan_make(const ry_problem *problem, int width, depthwise_nhwc_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    depthwise_read(problem, g, &plan->phase, plan->before, plan->dilation);
    plan->depth = g->channels_in;
    plan->multiplier = g->channels_out;
    plan->outputs = g->groups * g->channels_out;
    plan->packed_step = up(plan->outputs, width) * width;
    choose_block(width, plan);
    float low, high;
    plan->staged = plan->depth > 1 || plan->multiplier > 1 || ry_type_of(&problem->in[0]) != RY_f32;
    plan->through = ry_type_of(&problem->out[0]) != RY_f32 || ry_problem_has_input(problem, 3) ||
                    !ry_activation_bounds(ry_conv_activation(problem), &low, &high);
    plan->ring = (plan->height - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation[0] + 1;
    choose_tasks(width, plan);
    plan->plane = (plan->ring * g->in[2] + 1) * plan->channels;
    const size_t channels = (size_t)plan->channels * sizeof(float);
    size_t at = align(2 * channels);
    plan->sums = at, at += plan->through ? align((size_t)(NHWC_ROWS * NHWC_PIXELS) * channels) : 0;
    plan->ring_at = at, at += plan->staged ? align((size_t)(plan->depth * plan->plane) * sizeof(float)) : 0;
    plan->table = at, at += align((size_t)(plan->window ? NHWC_TABLE : g->taps * NHWC_PIXELS) * sizeof(float *));
    plan->scratch = at;
}
