/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the split copy of x and cuts the product into tasks. */
#include "kernels/cpu/amx/split_plan.h"

#include "base/whole.h"

enum {
    TILE_ROWS = SPLIT_TILE / SPLIT_STEP,
    BLOCK_MOST = 512,       /* pixels */
    COPY_MOST = 512 * 1024, /* bytes of a task's pixels, which stay in a second-level cache beside a unit's weights */
    TASKS_WANTED = 32,
    ROW_ELEMENTS = 16384, /* of x that a task splits, at least */
    WORKSPACE_MOST = 1 << 30,
    CHANNELS_LEAST = 16, /* of a group: half of a tile's row */
    TERMS_LEAST = 64,    /* of a sum: where shorter ones cancel, two parts are more than 32 times less accurate than the direct sum */
};

static bool is_f32(const ry_problem *problem, int input)
{
    return !ry_problem_has_input(problem, input) || ry_type_of(&problem->in[input]) == RY_f32;
}

bool split_is_possible(const ry_problem *problem)
{
    if (problem->op != RY_OP_conv || !ry_conv_is_spatial(problem) || !is_f32(problem, 0) || !is_f32(problem, 1) || !is_f32(problem, 2) ||
        !is_f32(problem, 3) || ry_type_of(&problem->out[0]) != RY_f32) {
        return false;
    }
    split_plan plan;
    ry_conv_geometry_of(problem, &plan.geometry, NULL, NULL);
    if (plan.geometry.channels_in < CHANNELS_LEAST || plan.geometry.channels_in * plan.geometry.taps < TERMS_LEAST) {
        return false;
    }
    for (int i = 0; i < RY_SPACE; i++) {
        if (plan.geometry.stride[i] > SPLIT_STRIDE_MOST) {
            return false;
        }
    }
    split_plan_choose(problem, SPLIT_PARTS_MOST, &plan);
    return plan.workspace <= (size_t)WORKSPACE_MOST;
}

/* Which positions of an axis outputs read, and the planes they lie in. */
static void lay_out_axis(split_plan *plan, int i)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[i];
    plan->dilation[i] = g->dilation[i];
    plan->origin[i] = -g->before[i];
    plan->extent[i] = (g->out[i] - 1) * stride + (g->kernel[i] - 1) * plan->dilation[i] + 1;
    plan->plane[i] = ry_parts(plan->extent[i], stride);
    plan->stored[i] = 0;
    for (int64_t residue = 0; residue < stride; residue++) {
        bool read = false;
        for (int64_t tap = 0; tap < g->kernel[i] && tap < stride && !read; tap++) {
            read = tap * plan->dilation[i] % stride == residue; /* which repeats after `stride` taps */
        }
        plan->residue[i][residue] = (int32_t)(read ? plan->stored[i]++ : -1);
    }
}

static void lay_out_copy(split_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->steps = ry_parts(g->channels_in, SPLIT_STEP);
    plan->pitch = plan->parts * plan->steps * SPLIT_STEP;
    /* A tile's rows lie so far apart: an odd number of cache lines spreads them over all sets of the first-level cache. */
    if (plan->pitch / SPLIT_STEP % 2 == 0) {
        plan->pitch += SPLIT_STEP;
    }
    plan->copy = plan->pitch;
    for (int i = 0; i < RY_SPACE; i++) {
        lay_out_axis(plan, i);
        plan->copy *= plan->stored[i] * plan->plane[i];
    }
    plan->rows = plan->extent[0] * plan->extent[1];
    const int64_t all = g->batch * g->groups * plan->rows;
    plan->rows_a_task = ry_parts(ROW_ELEMENTS, plan->extent[2] * g->channels_in);
    plan->row_tasks = ry_parts(all, plan->rows_a_task);
    plan->copies = ry_aligned((size_t)all * sizeof(split_range));
    /* A segment's last tiles read beyond it: the next copy, or, behind the last one, pixels that nobody wrote. */
    plan->workspace = plan->copies + ry_aligned((size_t)(g->batch * g->groups * plan->copy + TILE_ROWS * plan->pitch) * 2);
}

/* Whichever takes fewer pairs of tiles: rows of outputs one by one, or at once with the columns between them. */
static void find_segments(split_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t together = (g->out[1] - 1) * plan->plane[2] + g->out[2];
    plan->flat = ry_parts(together, 2 * TILE_ROWS) < g->out[1] * ry_parts(g->out[2], 2 * TILE_ROWS);
    plan->segment = plan->flat ? together : g->out[2];
    plan->segments = g->out[0] * (plan->flat ? 1 : g->out[1]);
}

static void find_blocks(split_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t ranges = g->batch * g->groups * plan->segments;
    int64_t block = BLOCK_MOST;
    while (block > 2 * SPLIT_UNIT && (block * plan->pitch * 2 > COPY_MOST || ranges * ry_parts(plan->segment, block) < TASKS_WANTED)) {
        block /= 2;
    }
    plan->block = ry_parts(ry_parts(plan->segment, ry_parts(plan->segment, block)), SPLIT_UNIT) * SPLIT_UNIT;
    plan->blocks = ry_parts(plan->segment, plan->block);
    plan->units = ry_parts(g->channels_out, SPLIT_UNIT);
    int64_t parts = 1;
    while (parts < plan->units && ranges * plan->blocks * parts < TASKS_WANTED) {
        parts *= 2;
    }
    plan->units_a_task = ry_parts(plan->units, ry_least(parts, plan->units));
    plan->unit_blocks = ry_parts(plan->units, plan->units_a_task);
    plan->tasks = ranges * plan->blocks * plan->unit_blocks;
}

/* What a multiply-add of a vector takes is one unit: half a cycle of the cores with tiles, which take 16 cycles for a product of two tiles. */
#define TILE_UNITS 32.0
/* Splitting a vector of x, with its way in and out; each further part's operations. NCHW is transposed besides. */
#define INPUT_UNITS     6.0
#define PART_UNITS      12.0
#define TURN_UNITS      8.0
#define OUTPUT_UNITS    8.0
#define TASK_UNITS      3000.0
#define PHASE_UNITS     20000.0
#define TILE_EFFICIENCY 0.8

static double count_cycles(const split_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    const double ranges = (double)(g->batch * g->groups * plan->segments), products = (double)(plan->parts * (plan->parts + 1)) / 2.0;
    /* A product's result comes after 52 cycles: two of them take nearly as long as the four of a whole block. */
    const double rows = 2.0 * (double)ry_parts(plan->segment, 2 * TILE_ROWS), columns = 2.0 * (double)ry_parts(g->channels_out, SPLIT_UNIT);
    const double tiles = ranges * rows * columns * (double)(plan->steps * g->taps) * products;
    const double in_vectors = (double)(g->batch * g->groups * g->in[0] * g->in[1] * g->in[2] * plan->steps * 2);
    const double split = in_vectors * (INPUT_UNITS + PART_UNITS * (double)(plan->parts - 1) + (g->x_channel == 1 ? 0 : TURN_UNITS));
    const double ends = ranges * rows * 16.0 * columns * (OUTPUT_UNITS + (plan->along_channels ? 0 : TURN_UNITS));
    return tiles * TILE_UNITS / TILE_EFFICIENCY + split + ends + TASK_UNITS * (double)(plan->tasks + plan->row_tasks) + PHASE_UNITS;
}

static void lay_out_scratch(split_plan *plan)
{
    const size_t sums = (size_t)(plan->block * SPLIT_UNIT) * sizeof(float), stage = (size_t)(SPLIT_STRIP * SPLIT_STEP) * sizeof(float);
    plan->sums = 0;
    plan->turned = ry_aligned(sums > stage ? sums : stage);
    /* the last pixels of a unit are read as a whole vector */
    plan->scratch = plan->turned + (plan->along_channels ? 0 : ry_aligned(sums + RY_ALIGNMENT));
}

void split_plan_choose(const ry_problem *problem, int64_t parts, split_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry_of(problem, &plan->geometry, NULL, NULL);
    const ry_conv_geometry *g = &plan->geometry;
    plan->parts = parts;
    plan->along_channels = g->y_channel == 1 && (!ry_problem_has_input(problem, 3) || g->r_channel == 1);
    lay_out_copy(plan);
    find_segments(plan);
    find_blocks(plan);
    lay_out_scratch(plan);
    plan->unit_packed = g->taps * plan->steps * parts * 2 * SPLIT_TILE;
    plan->weights = ry_aligned((size_t)(g->groups * plan->units) * sizeof(split_range));
    plan->packed = plan->weights + ry_aligned((size_t)(g->groups * plan->units * plan->unit_packed) * 2);
    plan->cycles = count_cycles(plan);
    plan->taps = ry_aligned(sizeof *plan);
    plan->distances = plan->taps + ry_aligned((size_t)g->taps * sizeof(ry_conv_tap));
    plan->size = plan->distances + ry_aligned((size_t)g->taps * sizeof(int64_t));
}

/* Distance in the copy of a tap at these positions of the window. */
static int64_t distance_of(const split_plan *plan, const int64_t r[RY_SPACE])
{
    const ry_conv_geometry *g = &plan->geometry;
    int64_t planes = 0, pixels = 0;
    for (int i = 0; i < RY_SPACE; i++) {
        const int64_t at = r[i] * plan->dilation[i];
        planes = planes * plan->stored[i] + plan->residue[i][at % g->stride[i]];
        pixels = pixels * plan->plane[i] + at / g->stride[i];
    }
    return (planes * plan->plane[0] * plan->plane[1] * plan->plane[2] + pixels) * plan->pitch;
}

void split_plan_make(const ry_problem *problem, int64_t parts, split_plan *plan)
{
    split_plan_choose(problem, parts, plan);
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(problem, g, &plan->phase, (ry_conv_tap *)(void *)((char *)plan + plan->taps));
    int64_t *distance = (int64_t *)(void *)((char *)plan + plan->distances);
    for (int64_t t = 0; t < g->taps; t++) {
        const int64_t r[RY_SPACE] = {t / (g->kernel[1] * g->kernel[2]), t / g->kernel[2] % g->kernel[1], t % g->kernel[2]};
        distance[t] = distance_of(plan, r);
    }
}

split_task split_task_at(const split_plan *plan, int64_t index)
{
    const ry_conv_geometry *g = &plan->geometry;
    split_task t = {.unit = index % plan->unit_blocks * plan->units_a_task};
    index /= plan->unit_blocks;
    t.units = ry_least(plan->units_a_task, plan->units - t.unit);
    t.first = index % plan->blocks * plan->block;
    t.count = ry_least(plan->block, plan->segment - t.first);
    index /= plan->blocks;
    const int64_t segment = index % plan->segments, rows = plan->flat ? 1 : g->out[1];
    t.depth = segment / rows;
    t.row = segment % rows;
    index /= plan->segments;
    t.group = index % g->groups;
    t.image = index / g->groups;
    return t;
}
