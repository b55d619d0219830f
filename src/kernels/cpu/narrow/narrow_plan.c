/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a convolution to few output channels into rows of outputs and chunks of input channels. */
#include "kernels/cpu/narrow/narrow_plan.h"

#include "base/whole.h"
#include "kernels/cpu/conv/igemm_plan.h"
#include "kernels/cpu/narrow/narrow_costs.h"
#include "kernels/form.h"
#include "machine/machine.h"

#include <string.h>

enum {
    TAPS_MOST = 2048,
    CHANNEL_MOST = 1 << 18, /* bytes of one channel's planes in a worker's scratch */
    POSITIONS = 2048,       /* of a task, at most, about */
    COLUMNS_LEAST = 96      /* of a part of a row */
};

/* Tasks, where there are rows and images enough. */
static int64_t tasks_least(const ry_machine *machine)
{
    return 4 * (int64_t)machine->cores;
}

/* Bytes of a task's sums, about. */
static int64_t sums_most(const ry_machine *machine)
{
    return ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 4;
}

/* Bytes of a chunk's planes: they stay in a second-level cache beside the sums. Five first-level caches are enough: more
 * gained nothing (Zen 4, 1 MiB), and lost 3 to 7 % where the channels of x lie next to each other. */
static int64_t staged_most(const ry_machine *machine)
{
    const int64_t share = ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 16 * 5;
    return ry_least(share, 5 * ry_machine_core_bytes(machine, RYND_LEVEL_L1));
}

/* Bytes of an image that stay in a second-level cache. */
static int64_t near_most(const ry_machine *machine)
{
    return ry_machine_core_bytes(machine, RYND_LEVEL_L2) / 8 * 7;
}

static size_t taps_at(const ry_conv_geometry *g)
{
    return ry_aligned(sizeof(narrow_plan) + (size_t)g->taps * sizeof(int32_t));
}

size_t narrow_plan_size(const ry_problem *problem)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    return taps_at(&g) + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
}

/* The slices that windows reach, and each phase's taps in them. */
static void find_slices(narrow_plan *plan, const ry_conv_tap *tap)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->slices = 1;
    for (int64_t p = 0; p < g->phases; p++) {
        narrow_phase *phase = &plan->phase[p];
        plan->slices = ry_most(plan->slices, phase->at.grid[0]);
        for (int64_t t = 0; t < phase->at.taps; t++) {
            const int64_t at = tap[phase->at.first_tap + t].at[0];
            int64_t d = 0;
            while (d < plan->depths && plan->depth[d] != at) {
                d++;
            }
            if (d == plan->depths) {
                plan->depth[plan->depths++] = at;
            }
            phase->slice[d].first = phase->slice[d].count == 0 ? (int32_t)t : phase->slice[d].first;
            phase->slice[d].count++;
        }
    }
}

/* Zeros before x, and the planes' extents, from what the taps reach. */
static void find_reach(narrow_plan *plan, const ry_conv_tap *tap)
{
    const ry_conv_geometry *g = &plan->geometry;
    for (int i = 0; i < 2; i++) {
        int64_t low = tap[0].at[i + 1], high = low;
        plan->grid[i] = 1;
        for (int64_t t = 0; t < g->taps; t++) {
            low = ry_least(low, tap[t].at[i + 1]);
            high = ry_most(high, tap[t].at[i + 1]);
        }
        for (int64_t p = 0; p < g->phases; p++) {
            plan->grid[i] = ry_most(plan->grid[i], plan->phase[p].at.grid[i + 1]);
        }
        plan->before[i] = -low;
        plan->reach[i] = (high - low) / g->stride[i + 1];
    }
    memset(plan->slot, -1, sizeof plan->slot);
    plan->planes = 0;
    for (int64_t t = 0; t < g->taps; t++) {
        int64_t *slot = &plan->slot[(tap[t].at[1] + plan->before[0]) % g->stride[1]][(tap[t].at[2] + plan->before[1]) % g->stride[2]];
        *slot = *slot < 0 ? plan->planes++ : *slot;
    }
}

static int64_t positions_of(const narrow_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    return ry_least(POSITIONS, sums_most(machine) / 4 / (g->channels_out * g->phases));
}

/* Of a task: several small ones, as long as there are tasks enough. */
static int64_t choose_images(const narrow_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t image = (plan->grid[0] + plan->reach[0]) * plan->pitch, planes = g->batch * g->groups * plan->slices;
    const int64_t many = ry_least(positions_of(plan, machine) / 2 / image, planes / tasks_least(machine));
    const int64_t images = plan->column_blocks > 1 ? 1 : ry_least(ry_most(1, many), g->batch);
    return ry_parts(g->batch, ry_parts(g->batch, images));
}

/* Of a task: many enough that staging what a window reaches over is little, few enough that all threads have some. */
static int64_t choose_rows(const narrow_plan *plan, const ry_machine *machine)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t rows = plan->grid[0], planes = g->batch * g->groups * plan->slices;
    const int64_t wanted = ry_most(ry_parts(rows * plan->pitch, positions_of(plan, machine)), ry_parts(tasks_least(machine), planes));
    const int64_t most = rows / ry_most(1, ry_least(2 * plan->reach[0], 4));
    return ry_parts(rows, plan->images > 1 ? 1 : ry_most(1, ry_least(wanted, most)));
}

static int64_t choose_chunk(const narrow_plan *plan, const ry_machine *machine)
{
    const int64_t channels = plan->geometry.channels_in, channel = ry_most(1, plan->planes * plan->plane * 4);
    return ry_parts(channels, ry_parts(channels, ry_most(1, staged_most(machine) / channel)));
}

static int64_t wanted_or(const ry_query *query, int knob, int64_t chosen)
{
    const int64_t wanted = ry_form_wanted(query, knob);
    return wanted == RY_KNOB_FREE ? chosen : wanted;
}

/* The tasks of so many columns. */
static void find_tasks(const ry_query *query, narrow_plan *plan, int64_t columns)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_machine *machine = query->target->machine;
    const int width = query->kernel->simd.width;
    plan->columns = columns;
    plan->column_blocks = ry_parts(plan->grid[1], columns);
    plan->pitch = columns + plan->reach[1];
    plan->images = wanted_or(query, NARROW_IMAGES, choose_images(plan, machine));
    plan->image_blocks = ry_parts(g->batch, plan->images);
    plan->rows = wanted_or(query, NARROW_TASK_ROWS, choose_rows(plan, machine));
    plan->row_blocks = ry_parts(plan->grid[0], plan->rows);
    plan->image_rows = plan->rows + plan->reach[0];
    /* a vector behind the last row may be overwritten; steps of whole pages would crowd a few sets of the cache */
    plan->plane = ry_parts(plan->images * plan->image_rows * plan->pitch + width, 16) * 16;
    plan->plane += plan->plane % 64 == 0 ? 16 : 0;
    plan->tasks = plan->image_blocks * g->groups * plan->slices * plan->row_blocks * plan->column_blocks;
    plan->chunk = wanted_or(query, NARROW_CHUNK, choose_chunk(plan, machine));
    plan->positions = ry_parts(((plan->images - 1) * plan->image_rows + plan->rows - 1) * plan->pitch + plan->columns, width) * width;
}

/* Cycles of a channel's row of every plane, of so many vectors. */
static double staged_cycles(const ry_query *query, const narrow_plan *plan, double vectors)
{
    const narrow_cycles *cost = &narrow_costs;
    const ry_conv_geometry *g = &plan->geometry;
    const int width = query->kernel->simd.width;
    const double planes = (double)plan->planes, stride = (double)g->stride[2];
    double rows = 0; /* of x */
    for (int64_t i = 0; i < g->stride[1]; i++) {
        bool used = false;
        for (int64_t j = 0; j < g->stride[2]; j++) {
            used = used || plan->slot[i][j] >= 0;
        }
        rows += used;
    }
    /* x's way from the outer caches, as the implicit GEMM counts it */
    const bool is_near = g->channels_in * g->in[0] * g->in[1] * g->in[2] * 4 <= near_most(query->target->machine);
    const double far = is_near ? 0 : cost->fetch * (double)(plan->pitch * g->stride[2]);
    if (g->x_step[2] == 1 || g->in[2] == 1) {
        return rows * (cost->line + far + vectors * stride * cost->move) + planes * vectors * cost->move;
    }
    /* a square of channels and positions is turned at once; of channels apart, every line of x comes again for the next chunk */
    const double lanes = (double)ry_least(plan->chunk, width), turned = cost->turned * (double)width / lanes;
    const double vector = (g->x_channel == 1 && turned < cost->apart ? turned : cost->apart) * stride;
    const double again = g->x_channel == 1 ? (double)width / lanes : 1.0;
    return rows * (cost->turned_line + far * again + vectors * (vector + stride * cost->move)) + planes * vectors * cost->move;
}

/* Of the output's slices, those whose window's slice `depth` is there. */
static double slice_share(const narrow_plan *plan, int64_t depth)
{
    int64_t there = 0;
    for (int64_t i = 0; i < plan->slices; i++) {
        there += narrow_slice_of_x(plan, i, depth) >= 0;
    }
    return (double)there / (double)plan->slices;
}

/* Of a task. */
static double count_cycles(const ry_query *query, const narrow_plan *plan)
{
    const narrow_cycles *cost = &narrow_costs;
    const ry_conv_geometry *g = &plan->geometry;
    const int width = query->kernel->simd.width;
    const int64_t whole = plan->positions / width, chunks = ry_parts(g->channels_in, plan->chunk);
    const double vectors = (double)whole, outputs = (double)g->channels_out, channels = (double)g->channels_in;
    const double staged =
        (double)(plan->images * plan->image_rows) * channels * staged_cycles(query, plan, (double)ry_parts(plan->pitch, width));
    double sums = 0, all = 0;
    for (int64_t d = 0; d < plan->depths; d++) {
        const double share = slice_share(plan, d);
        all += share;
        for (int64_t p = 0; p < g->phases; p++) {
            const double step = outputs > cost->step_least ? outputs : cost->step_least;
            const double taps = (double)plan->phase[p].slice[d].count;
            sums += share * vectors * (taps * channels * step + (taps > 0 ? outputs * cost->chunk * (double)chunks : 0));
        }
    }
    for (int64_t p = 0; p < g->phases; p++) {
        const bool near = plan->woven > 1 || plan->beside || plan->phase[p].at.y_step[2] == 1;
        sums += vectors * outputs * (near ? cost->end : cost->end_apart);
    }
    const double runs = g->phases == 1 ? (double)(plan->images * plan->rows) * outputs : 0;
    return all * staged * cost->stage + sums + runs * cost->run + cost->task;
}

/* Bytes of one channel's planes at most, in tasks of few rows. */
static int64_t channel_bytes(const ry_problem *problem, const ry_conv_geometry *g)
{
    const bool forward = problem->op == RY_OP_conv;
    const ry_ints *dilation = forward ? &problem->attrs.conv.dilation : &problem->attrs.convt.dilation;
    const ry_ints *stride = forward ? &problem->attrs.conv.stride : &problem->attrs.convt.stride;
    int64_t extent[2];
    for (int i = 0; i < 2; i++) {
        const int64_t step = ry_conv_attribute(problem, stride, i + 1, 1);
        const int64_t grid = forward ? g->out[i + 1] : ry_parts(g->out[i + 1], step);
        const int64_t reach = ry_conv_attribute(problem, dilation, i + 1, 1) * (g->kernel[i + 1] - 1) / step + 1;
        extent[i] = (i == 0 ? ry_least(grid, 8) : grid) + reach;
    }
    return extent[0] * extent[1] * g->stride[1] * g->stride[2] * 4;
}

bool narrow_is_possible(const ry_problem *problem)
{
    ry_conv_geometry g;
    if (!igemm_takes_floats(problem)) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    /* one tap of every pixel needs no staging */
    const bool one = g.kernel[1] * g.kernel[2] * g.stride[1] * g.stride[2] == 1;
    const int64_t out_most = problem->op == RY_OP_conv ? NARROW_OUT_MOST : NARROW_TRANSPOSED_OUT_MOST;
    return !one && g.kernel[0] <= NARROW_DEPTHS_MOST && g.channels_out <= out_most && g.taps > 0 && g.taps <= TAPS_MOST &&
           g.phases <= NARROW_PHASES_MOST && g.stride[1] <= NARROW_STRIDE_MOST && g.stride[2] <= NARROW_STRIDE_MOST &&
           channel_bytes(problem, &g) <= CHANNEL_MOST;
}

/* Cycles until the last core ends, were all as fast as one: where tasks are few and odd, some wait. */
static double until_end(const ry_query *query, narrow_plan *plan, int64_t columns)
{
    find_tasks(query, plan, columns);
    return (double)ry_whole(plan->tasks, query->target->machine->cores) * count_cycles(query, plan);
}

/* Whole rows, or the parts of rows that take the fewest cycles: of pixels with their channels. Planes' rows are read whole,
 * as memory likes them: parts took 1.04 to 1.2 times as long. */
static int64_t choose_columns(const ry_query *query, narrow_plan *plan)
{
    int64_t best = plan->grid[1];
    double least = until_end(query, plan, best);
    const bool cuts = plan->geometry.phases == 1 && plan->geometry.x_step[2] != 1;
    for (int64_t blocks = 2; cuts && plan->grid[1] / blocks >= COLUMNS_LEAST; blocks++) {
        const int64_t columns = ry_whole(ry_parts(plan->grid[1], blocks), query->kernel->simd.width);
        const double cycles = until_end(query, plan, columns);
        best = cycles < least ? columns : best;
        least = cycles < least ? cycles : least;
    }
    return best;
}

static void cut_rows(const ry_query *query, narrow_plan *plan)
{
    const int64_t wanted = ry_form_wanted(query, NARROW_COLUMNS);
    plan->cycles = until_end(query, plan, wanted == RY_KNOB_FREE ? choose_columns(query, plan) : wanted);
}

static void lay_out(narrow_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t line = ry_parts((plan->pitch + width) * g->stride[2], width) * width;
    size_t at = 0;
    plan->staged = at, at += ry_aligned((size_t)(plan->chunk * plan->planes * plan->plane + 8 * width) * 4);
    plan->lines = at, at += ry_aligned((size_t)(line * (g->x_channel == 1 ? width : 1)) * 4);
    plan->sums = at, at += ry_aligned((size_t)(g->phases * g->channels_out * plan->positions) * 4);
    plan->bias = at, at += ry_aligned((size_t)(g->phases * g->channels_out) * 4);
    plan->runs = at, at += ry_aligned((size_t)(plan->images * plan->rows) * sizeof(igemm_run));
    const int64_t woven = plan->beside ? g->channels_out : plan->woven;
    plan->woven_row = at, at += ry_aligned((size_t)(woven > 1 ? woven * (plan->positions + width) : 0) * 4);
    plan->scratch = at;
}

/* Channels that vectors can weave. */
static bool lies_beside(const ry_problem *problem, const ry_conv_geometry *g, const ry_conv_phase *phase)
{
    const int64_t channels = g->channels_out;
    const bool y = g->y_channel == 1 && phase->y_step[RY_SPACE - 1] == channels;
    const bool r = !ry_problem_has_input(problem, 3) || (g->r_channel == 1 && phase->r_step[RY_SPACE - 1] == channels);
    return g->phases == 1 && g->groups == 1 && channels > 1 && channels <= 4 && y && r;
}

bool narrow_plan_make(const ry_query *query, narrow_plan *plan)
{
    const ry_problem *problem = query->problem;
    ry_conv_geometry g;
    ry_conv_phase phase[NARROW_PHASES_MOST];
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->taps = taps_at(&g);
    plan->size = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_tap *tap = (ry_conv_tap *)((char *)plan + plan->taps);
    ry_conv_geometry_of(problem, &plan->geometry, phase, tap);
    for (int64_t p = 0; p < g.phases; p++) {
        plan->phase[p] = (narrow_phase){.at = phase[p], .packed = plan->packed_group};
        plan->packed_group += phase[p].taps * g.channels_in * g.channels_out;
    }
    plan->woven = ry_conv_woven(problem, &g);
    plan->beside = lies_beside(problem, &g, &phase[0]);
    plan->units = ry_parts(g.channels_out, NARROW_ROWS_OF(query->kernel->simd.rows));
    find_slices(plan, tap);
    find_reach(plan, tap);
    cut_rows(query, plan);
    if (plan->planes * plan->plane > INT32_MAX) {
        return false;
    }
    for (int64_t t = 0; t < g.taps; t++) {
        const int64_t row = tap[t].at[1] + plan->before[0], column = tap[t].at[2] + plan->before[1];
        const int64_t slot = plan->slot[row % g.stride[1]][column % g.stride[2]];
        plan->offset[t] = (int32_t)(slot * plan->plane + row / g.stride[1] * plan->pitch + column / g.stride[2]);
    }
    lay_out(plan, query->kernel->simd.width);
    return true;
}
