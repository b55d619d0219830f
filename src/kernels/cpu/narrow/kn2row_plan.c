/* SPDX-License-Identifier: Apache-2.0 */
/* Describes the matrix product of all taps, and cuts it and the sums behind it into tasks. */
#include "kernels/cpu/narrow/kn2row_plan.h"

#include "base/whole.h"
#include "kernels/cpu/conv/igemm_cost.h"
#include "kernels/cpu/narrow/kn2row_sum.h"

#include <string.h>

enum {
    OUT_MOST = 64, /* output channels of a group */
    TAPS_MOST = 2048,
    PRODUCTS_MOST = 64 << 20, /* bytes */
    NEAR_MOST = 448 * 1024,   /* bytes of products that stay in a second-level cache */
    POSITIONS = 2048,         /* that are summed at a time, at most, about */
    SUMS_MOST = 128 * 1024,   /* bytes of their sums, about */
    TASKS_LEAST = 8           /* where there are rows enough */
};

#define FETCH_CYCLES 1.2    /* of a float that does not */
#define FAR_CYCLES   0.33   /* of a float of x from memory, beside what the matrix product of a band counts */
#define ROW_CYCLES   20.0   /* of finding a tap in a row */
#define EDGE_CYCLES  4.0    /* of a tap's mask for a vector of positions */
#define LOAD_CYCLES  2.0    /* of a vector that is read and added */
#define STORE_CYCLES 6.0    /* of a vector of sums on its way to y, */
#define APART_CYCLES 40.0   /* or of one whose outputs lie apart */
#define RUN_CYCLES   25.0   /* of a row's way to y, beside its vectors */
#define TASK_CYCLES  2000.0 /* of taking a task, its bias and its runs */

void kn2row_product_of(const ry_problem *problem, const kn2row_plan *plan, kn2row_product *product)
{
    const ry_conv_geometry *g = &plan->geometry;
    const kn2row_band *band = &plan->band;
    const int64_t groups = band->out > 0 ? 1 : g->groups;
    ry_tensor x = problem->in[0];
    x.dim[1] = groups * g->channels_in;
    if (band->out > 0) {
        const int axis = x.rank - RY_SPACE + band->axis; /* of x, where it has it */
        x.dim[0] = 1;
        if (axis >= 2) {
            x.dim[axis] = band->in;
        }
    }
    ry_shape y = ry_tensor_shape(&x), w = {.rank = x.rank, .dim = {groups * kn2row_columns(g), g->channels_in}};
    for (int i = 2; i < x.rank; i++) {
        w.dim[i] = 1;
    }
    y.dim[1] = w.dim[0];
    product->in[0] = x;
    product->in[1] = ry_tensor_row_major(ry_type_of(&problem->in[1]), &w, NULL);
    product->out = ry_tensor_row_major(RY_f32, &y, NULL);
    product->problem = (ry_problem){.op = RY_OP_conv,
                                    .accuracy = RY_ACCURACY_strict,
                                    .attrs = ry_attrs_default(RY_OP_conv),
                                    .inputs = 2,
                                    .outputs = 1,
                                    .in = product->in,
                                    .out = &product->out};
    product->problem.attrs.conv.groups = groups;
}

static int64_t pixels_of(const ry_conv_geometry *g)
{
    return g->in[0] * g->in[1] * g->in[2];
}

bool kn2row_is_possible(const ry_problem *problem)
{
    ry_conv_geometry g;
    if (!igemm_takes_floats(problem)) {
        return false;
    }
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    const bool depthwise = g.channels_in == 1 && g.channels_out == 1;
    if (depthwise || g.stride[0] * g.stride[1] * g.stride[2] != 1 || g.taps < 2 || g.taps > TAPS_MOST || g.channels_out > OUT_MOST) {
        return false;
    }
    const int64_t most = PRODUCTS_MOST / 4, columns = g.groups * kn2row_columns(&g);
    return columns <= most && g.batch <= most / columns && pixels_of(&g) <= most / columns / g.batch;
}

static const kn2row_plan whole = {.band = {0}}; /* no bands */

size_t kn2row_plan_size(const ry_problem *problem)
{
    kn2row_plan plan = whole;
    kn2row_product product;
    ry_conv_geometry_of(problem, &plan.geometry, NULL, NULL);
    kn2row_product_of(problem, &plan, &product);
    return ry_aligned(sizeof(kn2row_plan)) + ry_aligned((size_t)plan.geometry.phases * sizeof(ry_conv_phase)) +
           ry_aligned((size_t)plan.geometry.taps * sizeof(ry_conv_tap)) + igemm_plan_size(&product.problem);
}

/* The largest bands whose products stay near, `tasks` of them or more where there are rows enough; none where not even the smallest does. */
static kn2row_band find_band(const kn2row_plan *plan, int64_t tasks)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_conv_tap *tap = (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
    kn2row_band band = {.axis = g->in[0] == 1 && plan->grid[0] == 1 ? 1 : 0};
    band.low = tap[0].at[band.axis];
    int64_t high = band.low;
    for (int64_t t = 0; t < g->taps; t++) {
        band.low = ry_least(band.low, tap[t].at[band.axis]);
        high = ry_most(high, tap[t].at[band.axis]);
    }
    const int64_t each = pixels_of(g) / g->in[band.axis] * kn2row_columns(g) * 4, most = NEAR_MOST / each - (high - band.low);
    const int64_t grid = plan->grid[band.axis];
    if (most < 1) {
        return whole.band;
    }
    band.count = ry_least(grid, ry_most(ry_parts(grid, most), ry_parts(tasks, g->batch * g->groups)));
    band.out = ry_parts(grid, band.count);
    band.count = ry_parts(grid, band.out);
    band.in = ry_least(band.out + high - band.low, g->in[band.axis]);
    return band;
}

static void find_tasks(kn2row_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const kn2row_band *band = &plan->band;
    const int64_t images = g->batch * g->groups, planes = band->out > 0 ? images * band->count : images * plan->grid[0];
    const int64_t rows = band->out > 0 && band->axis == 1 ? band->out : plan->grid[1];
    const int64_t most = ry_least(POSITIONS, SUMS_MOST / 4 / (g->channels_out * g->phases));
    const int64_t blocks = ry_most(ry_parts(rows * plan->pitch, most), band->out > 0 ? 1 : ry_parts(TASKS_LEAST, planes));
    plan->rows = ry_parts(rows, ry_least(rows, blocks));
    plan->row_blocks = ry_parts(rows, plan->rows);
    plan->positions = plan->rows * plan->pitch;
    plan->tasks = band->out > 0 ? planes : planes * plan->row_blocks;
}

/* Of the sums of a row of all phases, and its way to y. */
static double row_cycles(const kn2row_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)ry_parts(plan->pitch, width), outputs = (double)g->channels_out;
    const ry_conv_phase *phase = (const ry_conv_phase *)(const void *)((const char *)plan + plan->phases);
    const double store = plan->woven > 1 || phase->y_step[RY_SPACE - 1] == 1 ? STORE_CYCLES : APART_CYCLES;
    const double far = plan->products > NEAR_MOST ? 1 - (double)NEAR_MOST / (double)plan->products : 0;
    const double fetch = far * FETCH_CYCLES * (double)plan->grid[2];
    const double tap =
        ROW_CYCLES + vectors * (EDGE_CYCLES * (double)ry_parts(g->channels_out, KN2ROW_TOGETHER) + outputs * LOAD_CYCLES) + outputs * fetch;
    return (double)g->taps * tap + (double)g->phases * outputs * (vectors * store + RUN_CYCLES);
}

static double count_cycles(const kn2row_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double product = kn2row_product_plan(plan)->cycles, rows = (double)(plan->row_blocks * plan->rows) * row_cycles(plan, width);
    const double tasks = (double)ry_whole(plan->tasks, 2);
    if (plan->band.out == 0) {
        return product + IGEMM_PHASE_OVERHEAD + tasks * (rows / (double)plan->row_blocks + TASK_CYCLES);
    }
    const double slices = plan->band.axis == 0 ? (double)plan->band.out : 1;
    const double x = (double)(g->batch * g->groups * g->channels_in * pixels_of(g)), far = x * 4 > RY_CONV_FAR_LEAST ? x * FAR_CYCLES : 0;
    return far + tasks * (product + slices * rows + TASK_CYCLES);
}

static void lay_out(kn2row_plan *plan, int width)
{
    const ry_conv_geometry *g = &plan->geometry;
    const igemm_plan *product = kn2row_product_plan(plan);
    const bool banded = plan->band.out > 0;
    size_t at = 0;
    plan->sums = at, at += ry_aligned((size_t)(g->phases * g->channels_out * plan->positions) * 4);
    plan->bias = at, at += ry_aligned((size_t)(g->phases * g->channels_out) * 4);
    plan->runs = at, at += ry_aligned((size_t)plan->rows * sizeof(igemm_run));
    plan->woven_row = at, at += ry_aligned((size_t)(plan->woven > 1 ? plan->woven * (plan->positions + width) : 0) * 4);
    plan->sources = at, at += ry_aligned((size_t)g->taps * sizeof(kn2row_source));
    plan->band_products = at, at += banded ? plan->products : 0;
    plan->band_shared = at, at += banded ? ry_aligned(product->shared_size) : 0;
    plan->multiply = banded ? at : 0;
    plan->scratch = plan->multiply + product->scratch > at ? plan->multiply + product->scratch : at;
}

/* Everything that follows from the bands. */
static void fill(const ry_problem *problem, const igemm_tile *tile, const kn2row_band *band, kn2row_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const bool banded = band->out > 0;
    kn2row_product product;
    plan->band = *band;
    plan->pixels = banded ? pixels_of(g) / g->in[band->axis] * band->in : pixels_of(g);
    plan->products = ry_aligned((size_t)((banded ? 1 : g->batch * g->groups) * kn2row_columns(g) * plan->pixels) * 4);
    kn2row_product_of(problem, plan, &product);
    igemm_tile alone = *tile;
    alone.alone = banded;
    igemm_plan_make(&product.problem, &alone, (igemm_plan *)(void *)((char *)plan + plan->product));
    find_tasks(plan);
    plan->cycles = count_cycles(plan, tile->width);
    lay_out(plan, tile->width);
}

void kn2row_plan_make(const ry_problem *problem, const igemm_tile *tile, kn2row_plan *plan)
{
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    memset(plan, 0, sizeof *plan);
    plan->phases = ry_aligned(sizeof *plan);
    plan->taps = plan->phases + ry_aligned((size_t)g.phases * sizeof(ry_conv_phase));
    plan->product = plan->taps + ry_aligned((size_t)g.taps * sizeof(ry_conv_tap));
    ry_conv_phase *phase = (ry_conv_phase *)(void *)((char *)plan + plan->phases);
    ry_conv_geometry_of(problem, &plan->geometry, phase, (ry_conv_tap *)(void *)((char *)plan + plan->taps));
    for (int64_t p = 0; p < g.phases; p++) {
        for (int i = 0; i < RY_SPACE; i++) {
            plan->grid[i] = ry_most(plan->grid[i], phase[p].grid[i]);
        }
    }
    plan->pitch = ry_whole(plan->grid[2], tile->width);
    plan->woven = ry_conv_woven(problem, &g);
    const kn2row_band many = find_band(plan, TASKS_LEAST), few = find_band(plan, 1);
    kn2row_band best = whole.band;
    fill(problem, tile, &best, plan);
    double least = plan->cycles;
    if (few.out > 0) {
        fill(problem, tile, &few, plan);
        best = plan->cycles < least ? few : best;
        least = plan->cycles < least ? plan->cycles : least;
    }
    if (many.out > 0 && many.out != few.out) {
        fill(problem, tile, &many, plan);
        best = plan->cycles < least ? many : best;
    }
    if (plan->band.out != best.out) {
        fill(problem, tile, &best, plan);
    }
}
