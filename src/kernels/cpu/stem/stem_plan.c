/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a stem convolution into rows of outputs. */
#include "kernels/cpu/stem/stem_plan.h"

#include "base/whole.h"
#include "kernels/cpu/stem/stem_costs.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <string.h>

enum {
    CHANNELS_MOST = 8, /* above, implicit GEMM gathers whole vectors of channels */
    PIXELS_MOST = 13,  /* of a tile */
    DEPTH_MOST = 1024  /* of the sum: a unit's weights stay in a second-level cache */
};

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

/* Few enough that all cores are busy to the end, and that what they read stays in a first-level cache, or half of a
 * second-level one where blocks could not be smaller without more of them than are expected; more than eight first-level
 * caches gained nothing (Zen 4, 1 MiB: 1.01 to 1.04 times the time). */
static int64_t choose_rows(const stem_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t expected = 8 * (int64_t)machine->cores, few = ry_parts(g->out[1], expected);
    const int64_t near = ry_machine_core_bytes(machine, RYND_LEVEL_L1);
    const int64_t most = ry_least(ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 2, 8 * near);
    int64_t rows = ry_parts(g->out[1], ry_parts(expected, g->batch));
    while (rows > 1 && staged_rows(plan, rows) * plan->row * (int64_t)sizeof(float) > (rows > few ? near : most)) {
        rows = rows / 2;
    }
    return rows;
}

static void lay_out(const ry_query *query, stem_plan *plan)
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
    plan->rows_a_task = ry_form_wanted(query, STEM_ROWS);
    plan->rows_a_task = plan->rows_a_task == RY_KNOB_FREE ? choose_rows(plan, query->target->machine) : plan->rows_a_task;
    plan->blocks = ry_parts(g->out[1], plan->rows_a_task);
    size_t at = 0;
    plan->stage = at, at += ry_aligned((size_t)(staged_rows(plan, plan->rows_a_task) * plan->row) * sizeof(float));
    plan->bias = at, at += ry_aligned((size_t)(g->channels_out + plan->columns_most) * sizeof(float));
    const int64_t turned = plan->turned ? 2 * ry_parts(g->out[2], plan->width) * plan->width * plan->columns_most : 0;
    plan->block = at, at += ry_aligned((size_t)turned * sizeof(float));
    plan->scratch = at;
}

/* Multiply-adds that a step of a tile takes at least, as sums wait for themselves. */
static int64_t step_least(int64_t width)
{
    return stem_costs.step_least[width > 8];
}

/* Vectors along pixels leave the last one of a row partly empty, or alone in a tile, those along channels the last one of a pixel. */
static bool turning_pays(const ry_conv_geometry *g, const ry_simd *simd)
{
    const int64_t width = simd->width, depth = g->kernel[1] * g->kernel[2] * g->channels_in;
    const int64_t vectors = ry_parts(g->out[2], width), waits = ry_most(0, step_least(width) - simd->rows);
    const int64_t pixels = vectors * g->channels_out, channels = g->out[2] * ry_parts(g->channels_out, width);
    const int64_t alone = vectors % simd->vectors == 1 ? ry_parts(g->channels_out, simd->rows) * waits : 0;
    return channels * (depth + stem_costs.turned_ends) < pixels * (depth + stem_costs.ends) + alone * depth;
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
    const stem_cycles *cost = &stem_costs;
    const double ends = (double)(vectors * (plan->turned ? cost->turned_ends : cost->ends));
    const double turned = plan->turned ? (double)(g->channels_out * cost->turned_row) : 0;
    return staged * (cost->row + (double)plan->row * (near ? cost->staged_vector / (double)plan->width : cost->staged_float)) +
           rows * (step * depth + ends + tiles * cost->tile + turned) + blocks * (cost->task + (double)g->channels_out * cost->bias);
}

bool stem_has(const ry_problem *problem, stem_mode mode)
{
    const ry_tensor *y = &problem->out[0];
    return mode == STEM_CHANNELS ? y->stride[1] == 1 : y->stride[y->rank - 1] == 1;
}

static stem_mode choose_mode(const ry_query *query, const ry_conv_geometry *g)
{
    const int64_t wanted = ry_form_wanted(query, STEM_MODE);
    if (wanted != RY_KNOB_FREE) {
        return (stem_mode)wanted;
    }
    const bool channels = stem_has(query->problem, STEM_CHANNELS);
    return channels ? STEM_CHANNELS : turning_pays(g, &query->kernel->simd) ? STEM_TURNED : STEM_PIXELS;
}

void stem_plan_choose(const ry_query *query, stem_plan *plan)
{
    const ry_tensor *y = &query->problem->out[0];
    const ry_simd *simd = &query->kernel->simd;
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(query->problem, g, NULL, NULL);
    const stem_mode mode = choose_mode(query, g);
    plan->pixels = mode == STEM_PIXELS;
    plan->turned = mode == STEM_TURNED;
    plan->y_row = y->rank > 3 ? y->stride[y->rank - 2] : 0;
    plan->y_pixel = y->stride[y->rank - 1];
    plan->dilation = g->dilation[1];
    for (int i = 0; i < 2; i++) {
        plan->pad[i] = g->before[i + 1];
    }
    plan->width = simd->width;
    plan->columns_most = (int64_t)simd->width * simd->vectors;
    /* rows of pixels need an address each: with 14 of them some of the tile's sums leave the registers */
    plan->rows_most = plan->pixels ? simd->rows : ry_least(simd->rows, PIXELS_MOST);
    plan->unit_most = plan->pixels ? simd->rows : plan->columns_most;
    plan->units = ry_parts(g->channels_out, plan->unit_most);
    plan->depth = g->kernel[1] * g->kernel[2] * g->channels_in;
    plan->size = ry_aligned(sizeof *plan + (size_t)plan->depth * sizeof plan->offset[0]);
    lay_out(query, plan);
    plan->cycles = count_cycles(plan);
}

void stem_plan_make(const ry_query *query, stem_plan *plan)
{
    stem_plan_choose(query, plan);
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
