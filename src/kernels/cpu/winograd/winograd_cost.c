/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution in Winograd's form costs, by a count of cycles. */
#include "kernels/cpu/winograd/winograd_cost.h"

#include "base/whole.h"

enum {
    WEIGHTS_NEAR = 1 << 20, /* floats of all weights that may wait in a last-level cache: a network's rarely do */
    SHARED_NEAR = 2 << 20,  /* floats that last-level caches hold beside what else streams through them */
    TASK_OVERHEAD = 2000,
    PHASE_OVERHEAD = 30000,
    PIECE_CYCLES = 35,       /* the way to the first lines of a piece of a row, which memory's prefetchers do not see coming */
    NEAR_FLOATS = 240 << 10, /* of a second-level cache */
};

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

/* Positions of a tile in rows that are turned, a vector of them at a time: of the tiles of a run that read one row of `reach` positions each. */
static double turned_positions(const winograd_plan *plan, int64_t reach)
{
    const winograd_axis *w = &plan->axis[1];
    const int64_t phases = ry_least(w->dilation, ry_parts(plan->geometry.out[2] + w->lead, w->spread)), count = ry_parts(w->tiles, phases);
    const int64_t positions = (count - 1) * w->outputs * w->stride * w->dilation + reach + w->weave - 1;
    return (double)ry_whole(positions, plan->width) / (double)(count * w->weave);
}

/* Transforms of few input channels, which the products do not outweigh, take as many times what is counted where sixteen registers do not hold the points. */
#define FEW_REGISTERS 1.4

static double transform_cycles(const winograd_plan *plan, double *output)
{
    const double each = plan->width <= 8 && 2 * plan->geometry.channels_in <= plan->width ? FEW_REGISTERS : 1.0;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const double moves = 2.0 * (double)plan->points;
    const double read = plan->x_near ? 0 : turned_positions(plan, (w->points - 1) * w->step + w->stride);
    const double strips = 5.0 * (double)(h->points * (w->outputs + 1)), least = 5.0 * (double)h->points * read;
    const double back = (double)w->points * output_operations(h->points, h->outputs) +
                        (double)h->outputs * output_operations(w->points, w->outputs) + (double)plan->points +
                        2.0 * (double)(h->outputs * w->points) + (plan->y_near ? 1.0 : 6.0) * (double)(h->outputs * w->outputs);
    const double there = (double)w->points * input_operations(h->points) + (double)h->points * input_operations(w->points) + moves +
                         (plan->x_near     ? 0
                          : strips > least ? strips
                                           : least);
    *output = each * back;
    return each * there;
}

/* Cycles of meeting the runs of neighbouring positions that a block reads or writes of `channels` planes, where each of its rows of tiles meets
 * `rows` rows of a plane. Those of whole rows of tiles lie next to each other. */
static double piece_cycles(const winograd_plan *plan, int64_t channels, int64_t rows)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t columns = plan->axis[1].tiles, block = plan->block;
    int64_t common = columns; /* the greatest common divisor */
    for (int64_t rest = block % columns, next; rest > 0; rest = next) {
        next = common % rest;
        common = rest;
    }
    const double met = (double)(block + columns - common) / (double)columns; /* rows of tiles, on average */
    const bool near = channels * g->groups * g->out[1] * g->out[2] < NEAR_FLOATS / 2;
    return near ? 0 : (double)(channels * PIECE_CYCLES) * (common == columns ? met : met * (double)rows);
}

/* Cycles that a float from the outer caches costs, where half of it hides behind the arithmetic. */
#define STREAM_CYCLES (4.0 / 24.0)

/* How many times that a float of shared V takes where multiply-adds of long vectors wait for it, and where there are more than a cache holds. */
#define SHARED_WIDE 2.0
#define SHARED_FAR  4.0

/* The same of products, a vector of each point at a time. */
#define AGAIN_CYCLES 0.15

/* Half multiply-adds that begin while a float of weights arrives: from the outer caches, and where there are so many of them that they come from the
 * last one or from memory. Short vectors wait for memory; long ones' products fetch it ahead (cold_cycles). */
#define OUTER      0.5
#define FAR_NARROW 2.0
#define FAR_AGAIN  0.85

/* Multiply-adds of short vectors, two a cycle, that a line of weights from the outer caches holds up. */
#define ARRIVE_NARROW 2.0

/* Outputs of several phases come from places of M that lie far apart, and go to places of y that do: to more of them in short vectors. */
#define PHASES_APART        1.5
#define PHASES_APART_NARROW 3.0

static double floats_of(const winograd_plan *plan, int64_t channels, const int64_t extent[RY_SPACE])
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t floats = g->batch * g->groups * channels * extent[0] * extent[1] * extent[2];
    return floats * (int64_t)sizeof(float) > RY_CONV_FAR_LEAST ? (double)floats : 0;
}

/* Multiply-adds of long vectors in the time of a float of x from memory, of which two threads share the speed; one of y is read before it is written. */
#define FAR_X 0.75
#define FAR_Y 1.5

/* Cycles for which threads wait for x and y from memory: products hide what they fetch of pixels, less so of planes, a few lines of each row. */
static double memory_cycles(const winograd_plan *plan, double products)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double x = FAR_X * floats_of(plan, g->channels_in, g->in), y = FAR_Y * floats_of(plan, g->channels_out, g->out);
    const double hidden = (plan->x_near ? x : 0) + (plan->y_near ? y : 0);
    return x + y - (hidden < products ? hidden : products);
}

/* Multiply-adds in the time of a float of weights from memory, of which two threads share the speed. */
#define FAR_WIDE 1.0

/* Cycles for which threads wait for weights from memory. They are fetched while products run: those of the first block that each thread has or, where all
 * blocks pass by a unit's weights, those of all blocks; then two threads read the same weights at the same time, and both from memory. `products`: of a
 * block. */
static double cold_cycles(const winograd_plan *plan, double weights, double products)
{
    const double behind = products * (double)(plan->shared ? plan->blocks : ry_least(plan->blocks, 2));
    const double arrive = weights * (double)(plan->shared && plan->blocks > 1 ? 2 : 1) * FAR_WIDE;
    return arrive > behind ? (double)plan->geometry.groups * (arrive - behind) : 0;
}

double winograd_cost(const winograd_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double points = (double)plan->points, tiles = (double)plan->block, depth = (double)plan->depth;
    const double columns = (double)ry_whole(g->channels_out, plan->width), sums = (double)plan->products / (double)plan->classes * columns;
    const double in_vectors = (double)(ry_parts(g->channels_in, plan->width) * g->kernel[0] * plan->classes);
    const double out_vectors = columns * (double)plan->phases / (double)plan->width;
    const double parts = (double)ry_parts(plan->block, plan->tile_rows), rows = tiles / parts;
    double output;
    double input = tiles * in_vectors * transform_cycles(plan, &output);
    /* a step of the depth takes its multiply-adds, the loads of each tile of products, or the weights' way from the outer caches or memory */
    const bool far = sums * depth > WEIGHTS_NEAR, narrow = plan->width <= 8;
    const double arrive = (double)plan->tile_columns * (!far ? OUTER : narrow ? FAR_NARROW : FAR_AGAIN);
    double step = parts * (rows * 2.0 > 6.0 ? rows * 2.0 : 6.0);
    step = step > arrive ? step : arrive;
    step += narrow ? ARRIVE_NARROW : 0;
    const double products = (sums / (double)plan->width * step * depth + points * out_vectors * tiles * 10.0) / 2.0;
    const double all = products * (double)(plan->blocks * g->groups);
    const double waits = narrow ? 0 : memory_cycles(plan, all) + (far ? cold_cycles(plan, sums * depth, products) : 0);
    double back = tiles * out_vectors * output * (plan->phases == 1 ? 1.0 : narrow ? PHASES_APART_NARROW : PHASES_APART);
    if (!plan->x_near) {
        input += piece_cycles(plan, g->channels_in, plan->axis[0].points) * (double)g->kernel[0];
    }
    if (!plan->y_near) {
        /* products that all weights of the task pass by before they are read */
        const double weights = (double)(plan->units_a_task * plan->tile_columns * plan->depth * plan->products) / (double)plan->classes;
        const double held = points * (double)(plan->v_point + plan->m_point) + weights;
        back += held > NEAR_FLOATS ? points * tiles * columns * (double)plan->phases * AGAIN_CYCLES : 0;
        back += piece_cycles(plan, g->channels_out, plan->axis[0].outputs * plan->axis[0].spread);
    }
    const double again = points * tiles * depth * (double)plan->unit_blocks * STREAM_CYCLES * 0.5;
    const double blocks = (double)(plan->blocks * g->groups);
    if (!plan->shared) {
        const double task = input + products + back + again + TASK_OVERHEAD;
        const double turns = (double)ry_parts(plan->blocks * g->groups, 2) * 2.0;
        return (turns + 0.5) * task + waits;
    }
    const double floats = points * tiles * depth, longer = narrow ? 1.0 : SHARED_WIDE;
    const double stream = (floats * blocks > SHARED_NEAR ? SHARED_FAR : longer) * STREAM_CYCLES;
    const double share = floats * 2.0 * stream;
    /* two threads end together where all tasks are equal; where the last units make smaller ones, one waits for some part of a task */
    const double turns = (double)ry_parts(plan->blocks * g->groups * plan->unit_blocks, 2) * 2.0, each = (double)plan->units_a_task;
    const double units = plan->units % plan->units_a_task == 0 ? turns * each : blocks * (double)plan->units + each;
    const double multiply = (units + 0.5 * each) * (products + back) / (double)plan->units;
    return blocks * (input + share) + multiply + (turns + 0.5) * (floats * stream + TASK_OVERHEAD) + PHASE_OVERHEAD + waits;
}

double winograd_flop(const winograd_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const winograd_axis *h = &plan->axis[0], *w = &plan->axis[1];
    const double tiles = (double)(plan->tiles * g->groups);
    const double columns = (double)ry_whole(g->channels_out, plan->width);
    const double input = (double)w->points * input_operations(h->points) + (double)h->points * input_operations(w->points);
    const double output =
        (double)w->points * output_operations(h->points, h->outputs) + (double)h->outputs * output_operations(w->points, w->outputs);
    return 2.0 * tiles *
           ((double)(plan->products * plan->depth) / (double)plan->classes * columns + input * (double)plan->depth +
            output * columns * (double)plan->phases);
}
