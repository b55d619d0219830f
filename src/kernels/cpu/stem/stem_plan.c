/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a stem convolution into rows of outputs. */
#include "kernels/cpu/stem/stem_plan.h"

#include "base/whole.h"

#include <string.h>

enum {
    CHANNELS_MOST = 8,    /* above, implicit GEMM gathers whole vectors of channels */
    PIXELS_MOST = 13,     /* of a tile */
    DEPTH_MOST = 1024,    /* of the sum: a unit's weights stay in the second-level cache */
    STAGE_MOST = 1 << 18, /* bytes of staged rows */
    STAGE_NEAR = 1 << 15, /* the same where blocks could be smaller, as other images keep the threads busy */
    BLOCKS_EXPECTED = 16  /* of all images: enough for any threads to be busy to the end */
};

/* Cycles that a vector of outputs costs beside its sum: its start and end, and being turned on its way. */
enum { ENDS = 4, TURNED_ENDS = 12, TURNED_ROW = 20 /* of each output channel's row */ };

/* Cycles of a tile beside its vectors, of a staged row, and of a task. */
enum { TILE_CYCLES = 36, ROW_CYCLES = 30, TASK_CYCLES = 600 };

/* Cycles that staging takes, of a vector and of a float that comes alone. */
static const double STAGED_VECTOR = 3.0, STAGED_FLOAT = 1.5;

bool stem_is_possible(const ry_problem *problem)
{
    if (!ry_conv_is_spatial(problem) || !ry_conv_reads_forward(problem) || ry_problem_has_input(problem, 3)) {
        return false;
    }
    for (int i = 0; i < 3; i++) {
        if (ry_problem_has_input(problem, i) && ry_type_of(&problem->in[i]) != RY_f32) {
            return false;
        }
    }
    const ry_tensor *y = &problem->out[0];
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return ry_type_of(y) == RY_f32 && g.groups == 1 && g.channels_in <= CHANNELS_MOST && ry_conv_is_flat(&g) && g.dilation[2] == 1 &&
           g.kernel[1] * g.kernel[2] > 1 && g.kernel[1] * g.kernel[2] * g.channels_in <= DEPTH_MOST && g.stride[2] <= g.kernel[2] &&
           (y->stride[1] == 1 || y->stride[y->rank - 1] == 1);
}

/* Rows of x that so many rows of outputs read. */
static int64_t staged_rows(const stem_plan *plan, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    return (rows - 1) * g->stride[1] + (g->kernel[1] - 1) * plan->dilation + 1;
}

static void lay_out(stem_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    if (plan->pixels) {
        /* the last tile reads whole vectors */
        plan->strip = ry_parts(ry_parts(g->out[2], plan->columns_most) * plan->columns_most + (g->kernel[2] - 1) / g->stride[2], 16) * 16;
        plan->row = plan->strip * g->channels_in * g->stride[2];
    } else {
        plan->strip = ry_parts(((g->out[2] - 1) * g->stride[2] + g->kernel[2]) * g->channels_in, 16) * 16;
        plan->row = plan->strip;
    }
    const int64_t few = ry_parts(g->out[1], BLOCKS_EXPECTED);
    plan->rows_a_task = ry_parts(g->out[1], ry_parts(BLOCKS_EXPECTED, g->batch));
    while (plan->rows_a_task > 1 &&
           staged_rows(plan, plan->rows_a_task) * plan->row * 4 > (plan->rows_a_task > few ? STAGE_NEAR : STAGE_MOST)) {
        plan->rows_a_task = plan->rows_a_task / 2;
    }
    plan->blocks = ry_parts(g->out[1], plan->rows_a_task);
    size_t at = 0;
    plan->stage = at, at += ry_aligned((size_t)(staged_rows(plan, plan->rows_a_task) * plan->row) * sizeof(float));
    plan->bias = at, at += ry_aligned((size_t)(g->channels_out + plan->columns_most) * sizeof(float));
    const int64_t turned = plan->turned ? 2 * ry_parts(g->out[2], plan->width) * plan->width * plan->columns_most : 0;
    plan->block = at, at += ry_aligned((size_t)turned * sizeof(float));
    plan->scratch = at;
}

/* Multiply-adds that a step of a tile takes at least, as sums wait for themselves: four cycles, in each of which two of short vectors start. */
static int64_t step_least(int64_t width)
{
    return width <= 8 ? 8 : 4;
}

/* Vectors along pixels leave the last one of a row partly empty, or alone in a tile, those along channels the last one of a pixel. */
static bool turning_pays(const ry_conv_geometry *g, const stem_limits *limits)
{
    const int64_t width = limits->width, depth = g->kernel[1] * g->kernel[2] * g->channels_in;
    const int64_t vectors = ry_parts(g->out[2], width), waits = ry_most(0, step_least(width) - limits->tile_rows);
    const int64_t pixels = vectors * g->channels_out, channels = g->out[2] * ry_parts(g->channels_out, width);
    const int64_t alone = vectors % limits->tile_vectors == 1 ? ry_parts(g->channels_out, limits->tile_rows) * waits : 0;
    return channels * (depth + TURNED_ENDS) < pixels * (depth + ENDS) + alone * depth;
}

/* Cycles of one step of the sums of a row of outputs, and the row's tiles. */
static double step_cycles(const stem_plan *plan, double *tiles)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t along = plan->pixels ? g->out[2] : g->channels_out, across = plan->pixels ? g->channels_out : g->out[2];
    const int64_t whole = along / plan->columns_most, rest = ry_parts(along % plan->columns_most, plan->width);
    const double parts = (double)ry_parts(across, plan->rows_most), rows = (double)across / parts;
    const int64_t vectors = plan->columns_most / plan->width;
    const double full = rows * (double)vectors, last = rows * (double)rest;
    const double least = (double)step_least(plan->width);
    *tiles = parts * (double)(whole + (rest > 0));
    return parts * ((double)whole * (full > least ? full : least) + (rest == 0 ? 0 : last > least ? last : least));
}

/* Staging moves each float of a row in and out, by vectors where they lie next to each other and permutations bridge the stride. */
static double count_cycles(const stem_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double rows = (double)(g->batch * g->out[1]), blocks = (double)(g->batch * plan->blocks);
    const bool near = plan->pixels ? g->x_step[2] == 1 && g->stride[2] <= 4 : g->x_step[2] == g->channels_in || stem_weaves(g);
    const double staged = blocks * (double)staged_rows(plan, plan->rows_a_task);
    const int64_t vectors =
        plan->pixels ? ry_parts(g->out[2], plan->width) * g->channels_out : g->out[2] * ry_parts(g->channels_out, plan->width);
    double window = 0; /* its rows that are summed, in all output rows */
    for (int64_t i = 0; i < g->out[1]; i++) {
        int64_t first, end;
        stem_rows_inside(plan, i * g->stride[1] - plan->pad[0], &first, &end);
        window += (double)(end - first);
    }
    const double depth = window / (double)g->out[1] * (double)(g->kernel[2] * g->channels_in);
    double tiles;
    const double step = step_cycles(plan, &tiles);
    return staged * (ROW_CYCLES + (double)plan->row * (near ? STAGED_VECTOR / (double)plan->width : STAGED_FLOAT)) +
           rows * (step * depth + (double)vectors * (plan->turned ? TURNED_ENDS : ENDS) + tiles * TILE_CYCLES +
                   (plan->turned ? (double)(g->channels_out * TURNED_ROW) : 0)) +
           blocks * (TASK_CYCLES + (double)g->channels_out / 8);
}

void stem_plan_choose(const ry_problem *problem, const stem_limits *limits, stem_plan *plan)
{
    const ry_tensor *y = &problem->out[0];
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(problem, g, NULL, NULL);
    plan->pixels = y->stride[y->rank - 1] == 1 && y->stride[1] != 1;
    plan->turned = plan->pixels && turning_pays(g, limits);
    plan->pixels = plan->pixels && !plan->turned;
    plan->y_row = y->rank > 3 ? y->stride[y->rank - 2] : 0;
    plan->y_pixel = y->stride[y->rank - 1];
    plan->dilation = g->dilation[1];
    for (int i = 0; i < 2; i++) {
        plan->pad[i] = g->before[i + 1];
    }
    plan->width = limits->width;
    plan->columns_most = (int64_t)limits->width * limits->tile_vectors;
    /* rows of pixels need an address each: with 14 of them some of the tile's sums leave the registers */
    plan->rows_most = plan->pixels ? limits->tile_rows : ry_least(limits->tile_rows, PIXELS_MOST);
    plan->unit_most = plan->pixels ? limits->tile_rows : plan->columns_most;
    plan->units = ry_parts(g->channels_out, plan->unit_most);
    plan->depth = g->kernel[1] * g->kernel[2] * g->channels_in;
    plan->size = ry_aligned(sizeof *plan + (size_t)plan->depth * sizeof plan->offset[0]);
    lay_out(plan);
    plan->cycles = count_cycles(plan);
}

void stem_plan_make(const ry_problem *problem, const stem_limits *limits, stem_plan *plan)
{
    stem_plan_choose(problem, limits, plan);
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t k = 0; k < plan->depth; k++) {
        const int64_t s = k % g->kernel[2], c = k / g->kernel[2] % g->channels_in, r = k / g->kernel[2] / g->channels_in;
        const int64_t strip = c * g->stride[2] + s % g->stride[2];
        plan->offset[k] = (int32_t)(r * plan->dilation * plan->row + strip * plan->strip + s / g->stride[2]);
    }
}

void stem_pack(const stem_plan *plan, const float *w, float *packed)
{
    const ry_conv_geometry *g = &plan->geometry;
    for (int64_t unit = 0; unit < plan->units; unit++) {
        const int64_t first = stem_unit_first(plan, unit), count = stem_unit_first(plan, unit + 1) - first;
        const int64_t columns = stem_unit_packed(plan, unit);
        for (int64_t k = 0; k < plan->depth; k++) {
            const int64_t s = plan->pixels ? k % g->kernel[2] : k / g->channels_in % g->kernel[2];
            const int64_t c = plan->pixels ? k / g->kernel[2] % g->channels_in : k % g->channels_in;
            const int64_t r = k / (g->kernel[2] * g->channels_in);
            const float *from = w + g->w_first + first * g->w_out + c * g->w_in + r * g->w_step[1] + s * g->w_step[2];
            for (int64_t i = 0; i < columns; i++) {
                *packed++ = i < count ? from[i * g->w_out] : 0.0f;
            }
        }
    }
}
