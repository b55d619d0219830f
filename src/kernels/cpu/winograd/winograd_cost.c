/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution in Winograd's form costs, by a count of cycles. */
#include "kernels/cpu/winograd/winograd_cost.h"

#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"

#include <math.h>

static const struct ry_winograd_costs *costs_of(const winograd_plan *plan)
{
    return &ry_costs_of(plan->limits.costs)->winograd;
}

/* Operations of a vector in the transform of one axis, of the inputs and of the products. */
static double input_operations(int64_t points)
{
    return points == 8 ? 24 : points == 6 ? 12 : points == 4 ? 4 : 0;
}

static double output_operations(int64_t points, int64_t outputs)
{
    const int64_t pairs = points / 2 - 1;
    return points == 1 ? 0 : (double)(points - 2) + (double)outputs * (double)pairs;
}

/* Share of the rows that tiles read which x has; the others are zeros. */
static double rows_inside(const winograd_plan *plan)
{
    const winograd_axis *h = &plan->axis[0];
    const int64_t last = (h->tiles - 1) * h->outputs * h->stride - h->pad,
                  end = last + h->points * h->step, in = plan->geometry.in[1];
    const double outside = (double)(ry_max(h->pad, 0) + ry_max(end - in, 0)) / (double)h->step;
    return h->dilation > 1 ? 1 : fmax(0.5, 1 - outside / (double)(h->tiles * h->points));
}

/* Positions of a tile in rows that are transposed, a vector of them at a time: of the tiles of a
 * run that read one row of `reach` positions each. */
static double transposed_positions(const winograd_plan *plan, int64_t read_span)
{
    const winograd_axis *w = &plan->axis[1];
    const int64_t phases = ry_min(w->dilation, ry_ceil_div(plan->geometry.out[2] + w->output_offset,
                                                           w->output_stride)),
                  count = ry_ceil_div(w->tiles, phases);
    const int64_t positions =
        (count - 1) * w->outputs * w->stride * w->dilation + read_span + w->interleave - 1;
    /* long rows begin with lines of the cache, half a vector earlier on average */
    const int64_t before = positions < WINOGRAD_ALIGNED ? 0 : plan->width / 2;
    return (double)ry_round_up(positions + before, plan->width) / (double)(count * w->interleave);
}

void ry_winograd_price_points(const winograd_plan *plan, winograd_price *price)
{
    const struct ry_winograd_costs *c = costs_of(plan);
    const double each = 2 * plan->geometry.channels_in <= plan->width ? c->few_registers : 1.0;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const double read = plan->x_channels_last
                            ? 0
                            : transposed_positions(plan, (w->points - 1) * w->step + w->stride);
    const double strips =
        plan->x_channels_last ? 0 : c->position * (double)h->points * rows_inside(plan) * read;
    const double output_transform =
        (double)w->points * output_operations(h->points, h->outputs) +
        (double)h->outputs * output_operations(w->points, w->outputs) + (double)plan->points +
        c->between * (double)(h->outputs * w->points) +
        (plan->y_channels_last ? c->pixel : c->plane) * (double)(h->outputs * w->outputs);
    const double input_transform = (double)w->points * input_operations(h->points) +
                                   (double)h->points * input_operations(w->points) +
                                   c->point * (double)plan->points + strips;
    price->output_vector = each * output_transform;
    price->input_vector = each * input_transform;
}

/* A cache's floats. */
static double cache_floats(int64_t bytes)
{
    return (double)bytes / sizeof(float);
}

/* Cycles of meeting the runs of neighbouring positions that a block reads or writes of `channels`
 * planes, where each of its rows of tiles meets `rows` rows of a plane. Those of whole rows of
 * tiles are next to each other. */
static double piece_cycles(const winograd_plan *plan, int64_t channels, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    const struct ry_winograd_costs *c = costs_of(plan);
    const int64_t columns = plan->axis[1].tiles, block = plan->block;
    int64_t common = columns; /* the greatest common divisor */
    for (int64_t rest = block % columns, next; rest > 0; rest = next) {
        next = common % rest;
        common = rest;
    }
    /* rows of tiles, on average */
    const double met = (double)(block + columns - common) / (double)columns;
    const double floats = (double)(channels * g->groups * g->out[1] * g->out[2]);
    const bool near = floats < c->piece_cached * cache_floats(plan->limits.l2);
    return near ? 0 : (double)channels * c->piece * (common == columns ? met : met * (double)rows);
}

/* Does a block's M stay in the second-level cache while U of the task streams through it? If not,
 * writes and reads of M wait for the outer caches. */
static bool keeps_m(const winograd_plan *plan)
{
    const int64_t columns = ry_min(plan->oc_blocks_per_task * plan->tile_columns,
                                   ry_round_up(plan->geometry.channels_out, plan->width));
    const double u = (double)(columns * plan->depth * plan->products) / (double)plan->classes;
    const double held = (double)(plan->points * (plan->v_point + plan->m_point)) + u;
    return held <= costs_of(plan)->m_cached * cache_floats(plan->limits.l2);
}

/* Columns of a tile's products, over all points. */
static double sum_columns(const winograd_plan *plan)
{
    return (double)plan->products / (double)plan->classes *
           (double)ry_round_up(plan->geometry.channels_out, plan->width);
}

/* Cycles of a step of the depth, for all tiles of a block: its multiply-adds, the loads of each tile
 * of products, or the weights' way from the outer caches or memory. */
static double step_cycles(const winograd_plan *plan, double sums)
{
    const struct ry_winograd_costs *c = costs_of(plan);
    const bool from_memory =
        sums * (double)plan->depth > c->weights_kept * cache_floats(plan->limits.kept);
    const double arrive =
                     (double)plan->tile_columns * (from_memory ? c->weights_memory : c->weights),
                 multiply = (double)plan->block * c->multiply,
                 load = (double)ry_ceil_div(plan->block, plan->tile_rows) * c->step;
    return fmax(fmax(multiply, load), arrive) + c->weights_exposed;
}

void ry_winograd_price_tiles(const winograd_plan *plan, winograd_price *price)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double sums = sum_columns(plan),
                 vectors = (double)(ry_ceil_div(g->channels_in, plan->width) * g->kernel[0] *
                                    plan->classes);
    price->input = (double)plan->block * vectors * price->input_vector;
    price->input +=
        plan->x_channels_last
            ? 0
            : piece_cycles(plan, g->channels_in, plan->axis[0].points) * (double)g->kernel[0];
    price->multiplies = sums * step_cycles(plan, sums) * (double)plan->depth;
    price->pieces_written = plan->y_channels_last
                                ? 0
                                : piece_cycles(plan, g->channels_out,
                                               plan->axis[0].outputs * plan->axis[0].output_stride);
}

/* A block's products. */
static double product_cycles(const winograd_plan *plan, const winograd_price *price, bool keeps)
{
    const struct ry_winograd_costs *c = costs_of(plan);
    const double columns = (double)ry_round_up(plan->geometry.channels_out, plan->width);
    const double m = (double)plan->points * columns * (double)plan->phases * (double)plan->block;
    return (price->multiplies + m * (keeps ? c->sum : c->sum_memory)) / (double)plan->width;
}

/* A block's way from M to y. */
static double output_cycles(const winograd_plan *plan, const winograd_price *price, bool keeps)
{
    const ry_conv_geometry *g = &plan->geometry;
    const struct ry_winograd_costs *c = costs_of(plan);
    const double vectors =
        (double)(plan->phases * ry_ceil_div(g->channels_out, plan->width) * plan->block);
    double output_transform =
        vectors * price->output_vector * (plan->phases == 1 ? 1.0 : c->phases_separate);
    if (!plan->y_channels_last) {
        const double m = (double)plan->points * vectors * (double)plan->width;
        output_transform += keeps ? 0 : m * c->m_again;
        output_transform += price->pieces_written;
    }
    return output_transform;
}

/* Cycles of V's way to the outer caches and back, as far as a second-level cache does not hold it.
 */
static double spill_cycles(const winograd_plan *plan)
{
    const struct ry_winograd_costs *c = costs_of(plan);
    const double floats = (double)(plan->points * plan->v_point),
                 held = c->v_cached * cache_floats(plan->limits.l2);
    return c->v_spilled * fmax(floats - held, 0);
}

static void count(const winograd_plan *plan, const winograd_price *price, ry_work work[2])
{
    const struct ry_winograd_costs *c = costs_of(plan);
    const bool keeps = keeps_m(plan);
    const double blocks = (double)(plan->blocks * plan->geometry.groups),
                 floats = (double)(plan->points * plan->block * plan->depth);
    const double task = c->task + plan->limits.task, input = price->input,
                 products = product_cycles(plan, price, keeps),
                 output = output_cycles(plan, price, keeps);
    if (!plan->shared) {
        const double again = floats * (double)plan->oc_block_ranges * c->v;
        const double each = input + products + output + again + spill_cycles(plan) + task;
        work[0] = (ry_work){blocks * each, each};
        return;
    }
    const double stream =
        floats * (floats * blocks > cache_floats(plan->limits.kept) ? c->v_memory : c->v_shared);
    /* the last oc blocks of a block make smaller tasks */
    const double each =
        (products + output) * (double)plan->oc_blocks_per_task / (double)plan->oc_blocks + stream +
        task;
    work[0] = (ry_work){blocks * (input + 2.0 * stream), 0};
    work[1] = (ry_work){
        blocks * (products + output + (double)plan->oc_block_ranges * (stream + task)) + c->phase,
        each};
}

void ry_winograd_count(const winograd_plan *plan, ry_work work[2])
{
    winograd_price price;
    ry_winograd_price_points(plan, &price);
    ry_winograd_price_tiles(plan, &price);
    count(plan, &price, work);
}

double ry_winograd_cost(const winograd_plan *plan, const winograd_price *price)
{
    const size_t blocks = (size_t)(plan->blocks * plan->geometry.groups);
    ry_work work[2];
    count(plan, price, work);
    const unsigned cores = (unsigned)plan->limits.cores;
    if (!plan->shared) {
        return ry_spread_work(&work[0], blocks, cores, plan->limits.costs);
    }
    return ry_spread_work(&work[0], blocks * (size_t)plan->channel_parts, cores,
                          plan->limits.costs) +
           ry_spread_work(&work[1], blocks * (size_t)plan->oc_block_ranges, cores,
                          plan->limits.costs) +
           plan->limits.region;
}

double ry_winograd_cost_bound(const winograd_plan *plan, const winograd_price *price)
{
    const double rounding = 1 - 1e-9; /* the cost's terms are added in another order */
    return (double)(plan->blocks * plan->geometry.groups) *
           (price->input + price->multiplies / (double)plan->width) * rounding;
}

double ry_winograd_pack_cost(const winograd_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const struct ry_winograd_costs *c = costs_of(plan);
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const double vectors = 2.0 * (double)plan->tile_columns / (double)plan->width; /* float64 */
    const double multiplies =
        (double)(h->points * w->taps * (h->taps + w->points)) * vectors * c->pack;
    const double each =
        multiplies + (double)(h->taps * w->taps * plan->tile_columns) * c->pack_weight;
    const double transforms = (double)(g->groups * plan->oc_blocks * plan->phases * plan->depth);
    const double floats = (double)(g->groups * plan->packed_group);
    const double memory = floats > cache_floats(plan->limits.kept)
                              ? floats * plan->limits.memory * c->pack_memory
                              : 0;
    return transforms * each + memory;
}

double ry_winograd_flop(const winograd_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const double tiles = (double)(plan->tiles * g->groups);
    const double columns = (double)ry_round_up(g->channels_out, plan->width);
    const double input = (double)w->points * input_operations(h->points) +
                         (double)h->points * input_operations(w->points);
    const double output = (double)w->points * output_operations(h->points, h->outputs) +
                          (double)h->outputs * output_operations(w->points, w->outputs);
    return 2.0 * tiles *
           ((double)(plan->products * plan->depth) / (double)plan->classes * columns +
            input * (double)plan->depth + output * columns * (double)plan->phases);
}
