/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out the split copy of x and cuts the product into tasks. */
#include "kernels/cpu/amx/split_plan.h"

#include "base/room.h"

enum {
    TILE_ROWS = SPLIT_TILE / SPLIT_STEP,
    MAX_WORKSPACE = 1 << 30,
    MIN_CHANNELS = 16, /* channels of a group: half of a tile's row */
    /* terms of a sum: if shorter sums cancel, two parts are over 32 times less accurate than the
     * direct sum */
    MIN_TERMS = 64,
};

static bool is_f32(const ry_problem *problem, int input)
{
    return !ry_problem_has_input(problem, input) || ry_type_of(&problem->in[input]) == RY_f32;
}

/* Which positions of an axis outputs read, and the planes they are in. */
static void lay_out_axis(split_plan *plan, int i)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t stride = g->stride[i];
    plan->dilation[i] = g->dilation[i];
    plan->origin[i] = -g->before[i];
    plan->extent[i] = (g->out[i] - 1) * stride + (g->kernel[i] - 1) * plan->dilation[i] + 1;
    plan->plane[i] = ry_ceil_div(plan->extent[i], stride);
    plan->stored[i] = 0;
    for (int64_t residue = 0; residue < stride; residue++) {
        bool read = false;
        for (int64_t tap = 0; tap < g->kernel[i] && tap < stride && !read; tap++) {
            /* which repeats after `stride` taps */
            read = tap * plan->dilation[i] % stride == residue;
        }
        plan->residue[i][residue] = (int32_t)(read ? plan->stored[i]++ : -1);
    }
}

static void lay_out_copy(split_plan *plan)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->steps = ry_ceil_div(g->channels_in, SPLIT_STEP);
    plan->pitch = plan->parts * plan->steps * SPLIT_STEP;
    /* A tile's rows are stored so far apart: an odd number of cache lines spreads them over all
     * sets of the first-level cache. */
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
    plan->copies = ry_aligned((size_t)all * sizeof(split_range));
    /* A segment's last tiles read beyond it: the next copy, or, behind the last one, pixels that
     * nobody wrote. */
    plan->workspace =
        plan->copies +
        ry_aligned((size_t)(g->batch * g->groups * plan->copy + TILE_ROWS * plan->pitch) * 2);
}

void ry_split_start(const ry_problem *problem, int64_t parts, split_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    ry_conv_geometry_of(problem, &plan->geometry, NULL, NULL);
    plan->parts = parts;
    plan->along_channels = plan->geometry.y_channel == 1 &&
                           (!ry_problem_has_input(problem, 3) || plan->geometry.r_channel == 1);
    plan->oc_blocks = ry_ceil_div(plan->geometry.channels_out, SPLIT_OC_BLOCK);
    lay_out_copy(plan);
}

bool ry_split_is_possible(const ry_problem *problem)
{
    if (problem->op != RY_OP_conv || !ry_conv_is_spatial(problem) || !is_f32(problem, 0) ||
        !is_f32(problem, 1) || !is_f32(problem, 2) || !is_f32(problem, 3) ||
        ry_type_of(&problem->out[0]) != RY_f32) {
        return false;
    }
    ry_conv_geometry g;
    ry_conv_geometry_of(problem, &g, NULL, NULL);
    if (g.channels_in < MIN_CHANNELS || g.channels_in * g.taps < MIN_TERMS) {
        return false;
    }
    for (int i = 0; i < RY_SPACE; i++) {
        if (g.stride[i] > SPLIT_MAX_STRIDE) {
            return false;
        }
    }
    split_plan plan;
    ry_split_start(problem, SPLIT_MAX_PARTS, &plan);
    return plan.workspace <= (size_t)MAX_WORKSPACE;
}

void ry_split_set_segments(split_plan *plan, bool flat)
{
    const ry_conv_geometry *g = &plan->geometry;
    plan->flat = flat;
    plan->segment = flat ? (g->out[1] - 1) * plan->plane[2] + g->out[2] : g->out[2];
    plan->segments = g->out[0] * (flat ? 1 : g->out[1]);
}

static void lay_out_scratch(split_plan *plan)
{
    const size_t sums = (size_t)(plan->block * SPLIT_OC_BLOCK) * sizeof(float),
                 stage = (size_t)(SPLIT_STRIP * SPLIT_STEP) * sizeof(float);
    plan->sums = 0;
    plan->transposed = ry_aligned(sums > stage ? sums : stage);
    /* the last pixels of an oc block are read as a full vector */
    plan->scratch = plan->transposed + (plan->along_channels ? 0 : ry_aligned(sums + RY_ALIGNMENT));
}

void ry_split_lay_out(const ry_query *query, void *user)
{
    split_plan *plan = user;
    const ry_conv_geometry *g = &plan->geometry;
    (void)query;
    lay_out_scratch(plan);
    plan->oc_block_packed = g->taps * plan->steps * plan->parts * 2 * SPLIT_TILE;
    plan->weights = ry_aligned((size_t)(g->groups * plan->oc_blocks) * sizeof(split_range));
    plan->packed = plan->weights +
                   ry_aligned((size_t)(g->groups * plan->oc_blocks * plan->oc_block_packed) * 2);
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

void ry_split_make_tables(const ry_query *query, void *state)
{
    split_plan *plan = state;
    ry_conv_geometry *g = &plan->geometry;
    ry_conv_geometry_of(query->problem, g, &plan->phase, RY_AT(ry_conv_tap, plan, plan->taps));
    int64_t *distance = RY_AT(int64_t, plan, plan->distances);
    for (int64_t t = 0; t < g->taps; t++) {
        const int64_t r[RY_SPACE] = {t / (g->kernel[1] * g->kernel[2]),
                                     t / g->kernel[2] % g->kernel[1], t % g->kernel[2]};
        distance[t] = distance_of(plan, r);
    }
}

split_task ry_split_task_at(const split_plan *plan, size_t index)
{
    const int64_t rows = plan->flat ? 1 : plan->geometry.out[1];
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, index, range);
    return (split_task){.image = range[0].first,
                        .group = range[1].first,
                        .depth = range[2].first / rows,
                        .row = range[2].first % rows,
                        .first = range[3].first,
                        .count = range[3].count,
                        .oc_block = range[4].first,
                        .oc_blocks = range[4].count};
}
