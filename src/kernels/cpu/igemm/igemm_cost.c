/* SPDX-License-Identifier: Apache-2.0 */
/* What a way to cut a convolution into matrix products costs, by a count of cycles. */
#include "kernels/cpu/igemm/igemm_cost.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"

#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/igemm/igemm_layout.h"
#include "kernels/cpu/parts/tile_lines.h"
#include <math.h>

static const struct ry_igemm_costs *costs_of(const igemm_plan *plan)
{
    return &ry_costs_of(plan->sizes.costs)->igemm;
}

static const struct ry_qconv_costs *quantised_costs_of(const igemm_plan *plan)
{
    return &ry_costs_of(plan->sizes.costs)->qconv;
}

/* A cost that floats and bytes have under one name. */
#define COST(plan, name) \
    (igemm_is_quantised(plan) ? quantised_costs_of(plan)->name : costs_of(plan)->name)

/* Multiply-adds of a vector that take as long as those of a vector of elements. */
static double products_of(const igemm_plan *plan)
{
    const struct ry_qconv_costs *cost = quantised_costs_of(plan);
    switch (plan->lane) {
    case RY_LANE_QUAD: return cost->quads;
    case RY_LANE_SIGNED_QUAD: return cost->signed_quads;
    case RY_LANE_TILE: return cost->tiles;
    case RY_LANE_PAIR: return cost->pairs;
    case RY_LANE_NUMBER: break;
    }
    return 1;
}

/* Cycles of loading one gathered vector whose lanes lie in `segments` grid rows. */
static double load_cycles(const igemm_plan *plan, const igemm_phase *p, double segments)
{
    const int64_t step = igemm_lane_step(&plan->geometry),
                  lanes = igemm_permute_lanes(step, plan->width);
    if (step == 1 || plan->geometry.in[RY_SPACE - 1] == 1) {
        return segments;
    }
    if (lanes == 0) {
        return segments * costs_of(plan)->lanes * (double)plan->width;
    }
    return p->where.at.grid[RY_SPACE - 1] <= lanes
               ? costs_of(plan)->permute2 + (segments - 1) * costs_of(plan)->join
               : costs_of(plan)->permute2 *
                     ((double)ry_ceil_div(p->cut.lanes, lanes) + segments - 1);
}

/* Cycles of fetching x in pieces, if it does not stay in a core's caches. Whole rows are fetched,
 * gaps between pixels included. */
static double fetch_cycles(const igemm_plan *plan, int64_t block)
{
    const ry_conv_geometry *g = &plan->geometry;
    double all = (double)g->channels_in, each = 1;
    for (int i = 0; i < RY_SPACE; i++) {
        all *= (double)g->in[i];
        each *=
            (double)(i == RY_SPACE - 1 && g->x_step[i] == 1 ? g->stride[i]
                                                            : ry_min(g->stride[i], g->kernel[i]));
    }
    const double cycles = all * 4 <= (double)plan->sizes.second
                              ? 0
                              : costs_of(plan)->outer_pieces * COST(plan, outer);
    return (double)(g->channels_in * block) * each * cycles;
}

static double gather_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double vectors = (double)ry_ceil_div(block, p->cut.lanes),
                 fetch = fetch_cycles(plan, block);
    if (p->where.in_place) {
        return 0;
    }
    if (p->where.plain) {
        return vectors * (double)p->cut.depth * costs_of(plan)->copy + costs_of(plan)->line * fetch;
    }
    if (plan->mode == IGEMM_ROWS) {
        /* a row of the window is one run where nothing is between its pixels */
        const int64_t along = g->x_step[RY_SPACE - 1] == g->channels_in &&
                                      p->where.at.taps % g->kernel[RY_SPACE - 1] == 0
                                  ? g->kernel[RY_SPACE - 1]
                                  : 1;
        const int64_t runs = p->where.at.taps / along;
        const double copy = COST(plan, row_copy) + (plan->pairs ? costs_of(plan)->pair : 0);
        return fetch + (double)block * (double)runs *
                           (COST(plan, gather) +
                            copy * (double)ry_ceil_div(g->channels_in * along, plan->width));
    }
    const double row = (double)p->where.at.grid[RY_SPACE - 1];
    const double segments = p->where.at.grid[RY_SPACE - 1] % p->cut.lanes == 0
                                ? 1
                                : 1 + (double)(p->cut.lanes - 1) / row;
    const double store = costs_of(plan)->store + (plan->pairs ? costs_of(plan)->pair : 0);
    const double programs = p->cut.k_block_taps < p->where.at.taps
                                ? (double)ry_ceil_div(g->channels_in, p->cut.k_block_channels)
                                : 1.0;
    return fetch +
           vectors * ((double)p->cut.depth * (store + load_cycles(plan, p, segments)) +
                      (double)p->where.at.taps * programs * costs_of(plan)->taps * segments);
}

/* Cycles of a step of k of all tiles of `rows` rows and `columns` elements along the vectors. */
static double step_cycles(const igemm_plan *plan, int64_t rows, int64_t max, int64_t columns)
{
    const int64_t tiled = columns / plan->tile_columns, rest = columns % plan->tile_columns;
    const double tiles = (double)ry_ceil_div(rows, max), each = (double)rows / tiles,
                 width = (double)plan->width;
    const double full = each * (double)plan->tile_columns / width,
                 last = each *
                        (double)(ry_ceil_div(rest, plan->lane_multiple) * plan->lane_multiple) /
                        width;
    const double latency = ry_blocks_of(plan->sizes.costs)->igemm_latency;
    return tiles * products_of(plan) *
           ((double)tiled * (full > latency ? full : latency) + (rest == 0        ? 0
                                                                 : last > latency ? last
                                                                                  : latency));
}

/* Pixels next to each other in y, as sums from scratch are stored. */
static int64_t run_pixels(const igemm_phase *p)
{
    int64_t pixels = p->where.at.grid[RY_SPACE - 1];
    for (int i = RY_SPACE - 2; i >= 0 && p->where.alternating == 1 &&
                               p->where.at.y_step[i] == pixels * p->where.at.y_step[RY_SPACE - 1];
         i--) {
        pixels *= p->where.at.grid[i];
    }
    return pixels;
}

/* `in_bounds`: of the k blocks, those that are not left out. */
static double product_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block,
                             int64_t channels, double in_bounds)
{
    const bool pixels = plan->mode == IGEMM_PIXELS;
    const int64_t rows = pixels ? channels : block, columns = pixels ? block : channels;
    const int64_t max = pixels ? plan->tile_rows : igemm_pixel_rows(plan, p);
    const double vectors = (double)rows * (double)ry_ceil_div(columns, plan->width),
                 k_blocks = (double)p->cut.k_blocks;
    const double tiles =
        (double)(ry_ceil_div(rows, max) * ry_ceil_div(columns, plan->tile_columns));
    /* a tile's start and end cost about four cycles a vector in every k block; what is not direct
     * passes once more, and transposed again */
    double cycles =
        in_bounds * (step_cycles(plan, rows, max, columns) * (double)p->cut.steps +
                     (vectors * COST(plan, chunk_vector) + tiles * COST(plan, tile)) * k_blocks);
    if (!p->where.direct) {
        /* squares of a vector's positions and channels are transposed */
        const double transposed =
            p->where.transposed ? (double)ry_round_up(rows, plan->width) / (double)rows : 1;
        cycles +=
            vectors * (p->where.transposed ? costs_of(plan)->epilogue_transposed * transposed
                       : igemm_is_quantised(plan) && plan->geometry.y_channel == 1
                           ? quantised_costs_of(plan)->requantise
                       : pixels || plan->geometry.y_channel == 1 ? costs_of(plan)->finish
                                                                 : costs_of(plan)->finish_strided);
        cycles +=
            pixels ? (double)channels * (double)block / (double)run_pixels(p) * costs_of(plan)->run
                   : 0;
    }
    return cycles;
}

/* Cycles of the pages that tiles turn to, step by step, where a k block of x in place is in too
 * many. */
static double page_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block,
                          int64_t oc_blocks)
{
    const double pages = (double)plan->geometry.x_channel / costs_of(plan)->page_floats,
                 each = pages < 1 ? pages : 1;
    if (!p->where.in_place || plan->mode == IGEMM_ROWS) {
        return 0;
    }
    const bool small = igemm_is_small(plan);
    const bool aliased = small && plan->geometry.x_channel % RY_SET_FLOATS == 0 &&
                         (double)p->cut.k_block_channels > costs_of(plan)->aliased_planes;
    if (plan->mode == IGEMM_GATHERED) {
        const bool cached =
            !aliased && pages * (double)p->cut.k_block_channels <= costs_of(plan)->pages;
        return cached ? 0
                      : (double)(ry_ceil_div(block, p->cut.lanes) * oc_blocks * p->cut.steps) *
                            (aliased ? costs_of(plan)->aliased : costs_of(plan)->page_row * each);
    }
    const bool cached =
        !aliased && (!small || each * (double)p->cut.k_block_channels < costs_of(plan)->pages);
    return cached ? 0
                  : (double)(ry_ceil_div(block, plan->tile_columns) * oc_blocks * p->cut.steps) *
                        (aliased ? costs_of(plan)->aliased : costs_of(plan)->page_vector * each);
}

/* Cycles of reading an oc block's weights for all pixels of a block, or all oc blocks' for each
 * micro-panel. */
static double weights_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block,
                             int64_t channels)
{
    const bool stay = p->cut.steps * plan->geometry.channels_out * 4 <= plan->sizes.second;
    const double first = stay ? COST(plan, second) : COST(plan, outer);
    if (!p->cut.micropanels_outer) {
        return (double)p->cut.steps * (double)channels * first;
    }
    const double next =
        channels * p->cut.k_block_channels * p->cut.k_block_taps * 4 <= plan->sizes.panel
            ? COST(plan, second)
            : COST(plan, outer);
    return (double)p->cut.steps * (double)channels *
           (first + (double)(ry_ceil_div(block, plan->tile_columns) - 1) * next);
}

/* Cycles a float of x in place that small tiles read from two cache lines, where its planes do not
 * end with one. */
static double split_cycles(const igemm_plan *plan)
{
    const bool split = igemm_is_small(plan) && plan->mode != IGEMM_ROWS &&
                       plan->geometry.x_channel % RY_LINE_FLOATS != 0;
    return !split                       ? 0
           : plan->mode == IGEMM_PIXELS ? costs_of(plan)->split_vector
                                        : costs_of(plan)->split_row;
}

/* Cycles of reading x in place: a block is streamed for every oc block, and stays in the caches
 * near the core where it is small. */
static double passes_cycles(const igemm_plan *plan, const igemm_phase *p, int64_t block,
                            int64_t oc_blocks)
{
    const int64_t floats = block * p->cut.k_block_channels * p->cut.k_block_taps,
                  all = plan->geometry.channels_in * p->where.pixels;
    const bool cached = (double)(floats * 4) <
                        ry_blocks_of(plan->sizes.costs)->igemm_cached * (double)plan->sizes.l1;
    const double split = cached && plan->mode == IGEMM_PIXELS ? 0 : split_cycles(plan);
    const double first = all * 4 <= plan->sizes.second ? COST(plan, second) : COST(plan, outer);
    const double next = cached                             ? 0
                        : floats * 4 <= plan->sizes.second ? COST(plan, second)
                                                           : COST(plan, outer);
    return p->where.in_place
               ? (double)(block * p->cut.depth) *
                     (first + (double)(oc_blocks - 1) * next + (double)oc_blocks * split)
               : 0;
}

void ry_igemm_count_fused(const igemm_plan *plan, const igemm_phase *first, int64_t oc_blocks,
                          igemm_count *count)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t block = first->cut.block,
                  channels = ry_min(oc_blocks * plan->max_oc_block, g->channels_out);
    const double blocks = (double)(first->where.images * g->groups *
                                   ry_ceil_div(first->where.pixels, block)),
                 tasks = blocks * (double)ry_ceil_div(plan->oc_blocks, oc_blocks);
    /* share of the tasks' pixels that is real */
    const double full =
        (double)first->where.pixels / (double)(ry_ceil_div(first->where.pixels, block) * block);
    /* the last task of a block of pixels has the channels that are left */
    const int64_t parts = ry_ceil_div(plan->oc_blocks, oc_blocks),
                  rest = ry_max(g->channels_out - (parts - 1) * channels, 1);
    double fixed =
               plan->sizes.task + (first->where.in_place ? COST(plan, plain) : COST(plan, program)),
           product = 0, last = 0, gather = 0, stream = 0;
    for (int64_t i = 0; i < first->where.fused; i++) {
        const igemm_phase *p = &first[i];
        const double in_bounds = p->cut.in_bounds;
        product += product_cycles(plan, p, block, channels, in_bounds);
        last += rest == channels ? 0 : product_cycles(plan, p, block, rest, in_bounds);
        fixed += in_bounds * weights_cycles(plan, p, block, channels) +
                 passes_cycles(plan, p, block, oc_blocks) + page_cycles(plan, p, block, oc_blocks);
        if (p->where.source < 0 || i == p->where.source) {
            gather += in_bounds * gather_cycles(plan, p, block);
            stream += in_bounds *
                      (double)(ry_igemm_panel_floats(plan, p, block) * p->cut.k_blocks) *
                      COST(plan, outer);
        }
    }
    const double panels = plan->shared ? stream : gather, each = product + panels + fixed;
    const double products =
        rest == channels ? product : (product * (double)(parts - 1) + last) / (double)parts;
    count->work.all += tasks * ((products + panels) * full + fixed);
    count->work.largest = fmax(count->work.largest, each);
    count->tasks += (size_t)tasks;
    if (plan->shared) { /* written once, read by every task of other channels */
        count->gather.all += blocks * (gather + stream);
        count->gathers += (size_t)(blocks * (double)first->cut.k_blocks);
    }
}

/* Cycles of copying x, in squares of vectors. */
static double copy_cycles(const igemm_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t channels = g->groups * g->channels_in, positions = g->x_batch / channels;
    const double vectors = (double)(g->batch * ry_round_up(positions, plan->width) *
                                    ry_ceil_div(channels, plan->width));
    const bool outer = g->x_batch * 4 > plan->sizes.second;
    return vectors * (costs_of(plan)->x_copy + (outer ? costs_of(plan)->x_outer : 0));
}

double ry_igemm_cost_of(const igemm_plan *plan, igemm_count *count)
{
    const unsigned cores = plan->alone ? 1 : (unsigned)plan->sizes.threads;
    const ry_cost_column costs = plan->sizes.costs;
    if (plan->copied) {
        count->gather = (ry_work){copy_cycles(plan), 0};
        count->gathers = (size_t)plan->gathers;
        count->work.all *= costs_of(plan)->copy_margin;
        count->work.largest *= costs_of(plan)->copy_margin;
    }
    const bool gathers = igemm_has_gathering(plan);
    const double phase = plan->copied || (plan->shared && !plan->alone) ? plan->sizes.phase : 0;
    return ry_spread_work(&count->work, count->tasks, cores, costs) +
           (gathers ? ry_spread_work(&count->gather, count->gathers, cores, costs) : 0) + phase;
}
