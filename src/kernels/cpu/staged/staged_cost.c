/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of staged convolutions: of staging, of sums and of their way to y. */
#include "kernels/cpu/staged/staged_cost.h"

#include "base/integer.h"
#include "kernels/costs.h"
#include "machine/machine.h"
#include "problem/window.h"

typedef struct ry_staged_costs costs;

static const costs *costs_of(const staged_plan *plan)
{
    return &ry_costs_of(plan->costs)->staged;
}

static double max(double a, double b)
{
    return a > b ? a : b;
}

/* Rows of x for one of planes. */
static double rows_used(const staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    double rows = 0;
    for (int64_t i = 0; i < g->stride[1]; i++) {
        bool used = false;
        for (int64_t j = 0; j < g->stride[2]; j++) {
            used = used || plan->slot[i][j] >= 0;
        }
        rows += used;
    }
    return rows;
}

/* Cycles of staging a channel's row in every plane. */
static double plane_row_cycles(const ry_query *query, const staged_plan *plan)
{
    const costs *cost = costs_of(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)ry_ceil_div(plan->pitch, plan->width), rows = rows_used(plan);
    const double planes = (double)plan->planes, stride = (double)g->stride[2];
    /* x's way from the outer caches, as the implicit GEMM counts it */
    const int64_t cached = ry_machine_core_share(query->target->machine, RYND_LEVEL_L2,
                                                 ry_blocks_of(plan->costs)->staged_x);
    const bool is_cached = g->channels_in * g->in[0] * g->in[1] * g->in[2] * 4 <= cached;
    const double fetching = is_cached ? 0 : cost->fetch * (double)(plan->pitch * g->stride[2]);
    if (g->x_step[2] == 1 || g->in[2] == 1) {
        return rows * (cost->line + fetching + vectors * stride * cost->move) +
               planes * vectors * cost->move;
    }
    /* a square of channels and positions is transposed at once; of channels apart, every line of x
     * comes again for the next k block */
    const double lanes = (double)ry_min(plan->k_block, plan->width),
                 transposed = cost->transposed * (double)plan->width / lanes;
    const double vector =
        (g->x_channel == 1 && transposed < cost->apart ? transposed : cost->apart) * stride;
    const double again = g->x_channel == 1 ? (double)plan->width / lanes : 1.0;
    return rows * (cost->transposed_line + fetching * again +
                   vectors * (vector + stride * cost->move)) +
           planes * vectors * cost->move;
}

/* Sum of begin + i * step for the i below count, each clamped to [0, limit]. */
static double clamped_sum(int64_t begin, int64_t step, int64_t count, int64_t limit)
{
    const int64_t above = ry_clamp(ry_ceil_div(ry_max(-begin, 0), step), 0, count),
                  full = ry_clamp(ry_ceil_div(ry_max(limit - begin, 0), step), above, count);
    const double between = (double)(full - above);
    return between * (double)begin +
           (double)step * between * ((double)above + (double)full - 1) / 2 +
           (double)(count - full) * (double)limit;
}

/* Share of the rows that tasks stage which x has; the others are zeros. A block's rows that x has
 * are the clamped end less the clamped begin: millions of blocks cost no more than one. */
static double rows_inside(const staged_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t blocks = ry_ceil_div(plan->grid[0], plan->rows),
                  rows = plan->image_rows * g->stride[1], step = plan->rows * g->stride[1],
                  begin = -plan->before[0];
    const double inside = clamped_sum(begin + rows, step, blocks, g->in[1]) -
                          clamped_sum(begin, step, blocks, g->in[1]);
    return inside / ((double)blocks * (double)rows);
}

/* Cycles of staging a task's rows of one group. */
static double stage_cycles(const ry_query *query, const staged_plan *plan)
{
    const costs *cost = costs_of(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const double rows = (double)(plan->images * plan->image_rows) * rows_inside(plan);
    if (plan->form == STAGED_PLACE) {
        return 0;
    }
    if (plan->form != STAGED_CHANNELS) {
        return rows * (double)g->channels_in * plane_row_cycles(query, plan);
    }
    const bool cached =
        g->x_step[2] == g->channels_in || (g->x_step[2] == 1 && g->channels_in <= 4);
    return rows *
           (cost->channel_line +
            (double)plan->pitch * (cached ? cost->position / (double)plan->width : cost->alone));
}

/* Share of output slices whose window slice `depth` is not padding. */
static double slice_share(const staged_plan *plan, int64_t depth)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_window_range there =
        ry_window_inside(g->in[0], plan->depth[depth], g->stride[0], plan->slices);
    return (double)(there.end - there.begin) / (double)plan->slices;
}

static double count_runs(const ry_query *query, const staged_plan *plan)
{
    const costs *cost = costs_of(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t k_blocks = ry_ceil_div(g->channels_in, plan->k_block);
    const double vectors = (double)(plan->positions / plan->width),
                 outputs = (double)g->channels_out, channels = (double)g->channels_in;
    const double step = max(outputs, cost->min_load);
    double sums = 0, all = 0;
    for (int64_t d = 0; d < plan->depths; d++) {
        const double share = slice_share(plan, d);
        all += share;
        for (int64_t p = 0; p < g->phases; p++) {
            const double taps = (double)plan->phase[p].slice[d].count;
            sums += share * vectors *
                    (taps * channels * step +
                     (taps > 0 ? outputs * cost->k_block * (double)k_blocks : 0));
        }
    }
    for (int64_t p = 0; p < g->phases; p++) {
        const bool cached =
            plan->interleave > 1 || plan->adjacent || plan->phase[p].at.y_step[2] == 1;
        sums += vectors * outputs * (cached ? cost->end : cost->end_strided);
    }
    const double runs = g->phases == 1 ? (double)(plan->images * plan->rows) * outputs : 0;
    const double group = all * stage_cycles(query, plan) + sums + runs * cost->run;
    return (double)plan->tasks * ((double)plan->groups * group + cost->task);
}

/* Cycles of one step of the sums of a row of outputs, and the row's tiles. */
static double step_cycles(const ry_query *query, const staged_plan *plan, double *tiles)
{
    const costs *cost = costs_of(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const ry_simd *simd = &query->kernel->simd;
    if (staged_ends_in_rows(plan->form)) {
        const double rows = (double)g->channels_out / (double)plan->oc_blocks;
        const int64_t vectors = ry_ceil_div(plan->columns, plan->width);
        const double parts = (double)ry_ceil_div(
            vectors, max_staged_vectors(simd->rows, ry_ceil_div(g->channels_out, plan->oc_blocks)));
        const bool half = plan->columns <= vectors * plan->width - simd->lane_multiple &&
                          simd->lane_multiple < simd->width;
        const double some = ((double)vectors - (half ? 0.5 : 0)) / parts;
        const double masks = plan->form == STAGED_PLACE ? cost->masked * (parts > 1 ? 2 : 1) : 0;
        *tiles = (double)plan->oc_blocks * parts;
        return *tiles * max(max(rows * some, cost->min_load * some), cost->min_step) +
               (double)plan->oc_blocks * masks;
    }
    const int64_t full = g->channels_out / plan->max_oc_block,
                  rest = ry_ceil_div(g->channels_out % plan->max_oc_block, plan->width);
    const double parts = (double)ry_ceil_div(plan->columns, ry_min(simd->rows, STAGED_MAX_PIXELS)),
                 rows = (double)plan->columns / parts;
    *tiles = parts * (double)(full + (rest > 0));
    return parts * ((double)full * max(rows * simd->vectors, cost->min_step) +
                    (rest == 0 ? 0 : max(rows * (double)rest, cost->min_step)));
}

/* Sums that go from tiles to y. */
static double count_tiles(const ry_query *query, const staged_plan *plan)
{
    const costs *cost = costs_of(plan);
    const ry_conv_geometry *g = &plan->geometry;
    const bool channels = plan->form == STAGED_CHANNELS;
    const int64_t vectors = channels ? plan->columns * ry_ceil_div(g->channels_out, plan->width)
                                     : ry_ceil_div(plan->columns, plan->width) * g->channels_out;
    const ry_conv_tap *tap = staged_taps(plan);
    double window = 0; /* rows of windows inside x, over all output rows */
    for (int64_t r = 0; r < g->kernel[1]; r++, tap += g->kernel[2]) {
        window += (double)(tap->end[1] - tap->first[1]);
    }
    double tiles;
    const double step = step_cycles(query, plan, &tiles) * (double)(g->kernel[2] * g->channels_in);
    const double ends =
        (double)vectors * (plan->transposed ? cost->tile_transposed : cost->tile_end) +
        tiles * cost->tile;
    const double transposed = plan->transposed ? (double)g->channels_out * cost->transposed_row : 0;
    const double image = step * window + (double)plan->grid[0] * (ends + transposed);
    const double blocks = (double)ry_ceil_div(plan->grid[0], plan->rows) *
                          (stage_cycles(query, plan) + (double)g->channels_out * cost->bias);
    return (double)(g->batch * g->groups) * (image + blocks) +
           (double)plan->tasks * cost->tile_task;
}

ry_work ry_staged_work(const ry_query *query, const staged_plan *plan)
{
    return (ry_work){plan->form == STAGED_RUNS ? count_runs(query, plan) : count_tiles(query, plan),
                     0};
}
