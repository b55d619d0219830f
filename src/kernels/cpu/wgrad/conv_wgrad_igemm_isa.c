/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: the weight gradient of convolutions as a product of dy and the windows of x, which are
 * nowhere gathered (wgrad_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/wgrad/wgrad_copy.h"
#include "kernels/cpu/wgrad/wgrad_plan.h"
#include "kernels/cpu/wgrad/wgrad_store.h"
#include "kernels/cpu/wgrad/wgrad_tile.h"

#include <string.h>

typedef struct wgrad_task {
    const wgrad_plan *plan;
    const float *x; /* the task's first channel */
    const float *dy;
    int64_t part, group, tile, tiles, channel, channels;
    float *panel, *copy, *sums, *bias; /* sums and bias of the task's first tile */
    int64_t sums_tile; /* floats from the sums of a tile of k to those of the next */
} wgrad_task;

/* Output channels of a tile of k. */
static int64_t columns_of(const wgrad_plan *plan, int64_t tile)
{
    return ry_min(plan->tile_columns, plan->shape.k - tile * plan->tile_columns);
}

static int64_t panel_step(const wgrad_plan *plan, int64_t tile)
{
    return ry_round_up(columns_of(plan, tile), RY_W);
}

/* The part of dy that a tile of k reads in a block: vectors of columns, and the strides between the
 * loops' positions. */
typedef struct wgrad_panel {
    const float *at;
    int64_t step[WGRAD_LOOPS];
} wgrad_panel;

static const float *first_dy(const wgrad_task *t, const wgrad_block *block)
{
    const wgrad_operand *dy = &t->plan->shape.dy;
    return t->dy + block->image * dy->image + block->d * dy->step[0] + block->line * dy->step[1];
}

static int64_t outer_step(const wgrad_plan *plan)
{
    return plan->outer_is_d ? plan->shape.dy.step[0] : plan->shape.dy.image;
}

/* Tiles [begin, end) of the task, [tile][position][columns] of a block, its lines and then its
 * images one after another. */
static void pack_dy(const wgrad_task *t, const wgrad_block *block, int64_t begin, int64_t end,
                    float *panel)
{
    enum { TOGETHER = 32 }; /* positions of which several tiles are packed one after another */
    const wgrad_plan *plan = t->plan;
    const wgrad_operand *dy = &plan->shape.dy;
    const int64_t along = plan->shape.axis[2].out, columns = plan->tile_columns;
    const bool joined = dy->step[1] == along * dy->step[2];
    const int64_t pieces = joined ? 1 : block->lines, piece = block->lines / pieces * along,
                  each = end - begin > 1 ? TOGETHER : piece;
    const float *from = first_dy(t, block);
    for (int64_t i = 0; i < block->outer * pieces; i++) {
        const float *line = from + i / pieces * outer_step(plan) + i % pieces * dy->step[1];
        for (int64_t at = 0; at < piece; at += each) {
            for (int64_t j = begin; j < end; j++) {
                const int64_t tile = t->tile + j, step = panel_step(plan, tile);
                RY_ISA_SYMBOL(pack_micropanel)
                (RY_f32, line + at * dy->step[2] + tile * columns * dy->channel, dy->step[2],
                 dy->channel, ry_min(each, piece - at), columns_of(plan, tile), step,
                 panel + (j - begin) * plan->panel_floats + (i * piece + at) * step);
            }
        }
    }
}

/* The panel of tile i of the task: packed, or dy where it is stored. */
static wgrad_panel panel_of(const wgrad_task *t, const wgrad_block *block, int64_t i)
{
    const wgrad_plan *plan = t->plan;
    const wgrad_operand *dy = &plan->shape.dy;
    const int64_t tile = t->tile + i, step = panel_step(plan, tile),
                  along = plan->shape.axis[2].out;
    if (plan->in_place) {
        return (wgrad_panel){first_dy(t, block) + tile * plan->tile_columns,
                             {outer_step(plan), dy->step[1], dy->step[2]}};
    }
    return (wgrad_panel){t->panel + (plan->together ? i * plan->panel_floats : 0),
                         {block->lines * along * step, along * step, step}};
}

/* Sums of `columns` of the panel's. */
static void add_bias(const wgrad_panel *panel, const wgrad_block *block, int64_t along,
                     int64_t columns, bool first, float *bias)
{
    for (int64_t j = 0; j < columns; j += RY_W) {
        ry_vf sum[4] = {ry_vf_zero(), ry_vf_zero(), ry_vf_zero(), ry_vf_zero()};
        for (int64_t line = 0; line < block->outer * block->lines; line++) {
            const float *at = panel->at + line / block->lines * panel->step[0] +
                              line % block->lines * panel->step[1] + j;
            for (int64_t i = 0; i < along; i += 4) {
                for (int64_t lane = 0; lane < ry_min(4, along - i); lane++) {
                    sum[lane] = ry_vf_add(sum[lane], ry_vf_load(at + (i + lane) * panel->step[2]));
                }
            }
        }
        const ry_vf all = ry_vf_add(ry_vf_add(sum[0], sum[1]), ry_vf_add(sum[2], sum[3]));
        ry_vf_store(bias + j, first ? all : ry_vf_add(ry_vf_load(bias + j), all));
    }
}

/* The loops of a tap over a block: from where on, how often, and how far apart. */
static void set_loops(const wgrad_task *t, const wgrad_block *block, int64_t tap,
                      const wgrad_panel *panel, wgrad_tile *tile)
{
    const wgrad_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    const int64_t first[WGRAD_SPACE] = {block->d, block->line, 0},
                  extent[WGRAD_SPACE] = {plan->outer_is_d ? block->outer : 1, block->lines,
                                         s->axis[2].out};
    const wgrad_operand *x = plan->copied ? &plan->copy : &s->x;
    int64_t at[WGRAD_SPACE], begin[WGRAD_SPACE], count[WGRAD_SPACE];
    wgrad_tap_at(s, tap, at);
    tile->a = plan->copied ? t->copy : t->x + block->image * x->image;
    tile->b = panel->at;
    for (int i = 0; i < WGRAD_SPACE; i++) {
        const ry_window_axis *axis = &s->axis[i];
        const int64_t met =
            plan->copied ? at[i] * axis->dilation : ry_window_at(axis, first[i], at[i]);
        const ry_window_range range =
            plan->copied ? (ry_window_range){0, extent[i]}
                         : ry_window_inside(axis->in, met, axis->stride, extent[i]);
        begin[i] = range.begin;
        count[i] = range.end - range.begin;
        tile->a += (met + range.begin * axis->stride) * x->step[i];
        tile->a_step[i] = axis->stride * x->step[i];
        tile->b += begin[i] * panel->step[i];
        tile->b_step[i] = panel->step[i];
    }
    if (!plan->outer_is_d) {
        tile->a_step[0] = x->image;
        count[0] *= block->outer;
    }
    memcpy(tile->count, count, sizeof count);
    if (s->plain && tile->a_step[1] == extent[2] * tile->a_step[2] &&
        tile->b_step[1] == extent[2] * tile->b_step[2]) {
        tile->count[2] *= tile->count[1];
        tile->count[1] = 1;
    }
}

/* `rows` rows of sums, a tile after the other: from run->a and run->c on, each `a_row` and `c_row`
 * further. */
static void multiply_rows(wgrad_tile run, int64_t rows, int64_t vectors)
{
    const int64_t pieces = ry_ceil_div(rows, RY_TILE_ROWS), each = rows / pieces,
                  extra = rows % pieces;
    for (int64_t piece = 0; piece < pieces; piece++) {
        const int64_t here = each + (piece < extra);
        RY_ISA_SYMBOL(wgrad_tiles)[vectors - 1][here - 1](&run);
        run.a += here * run.a_row;
        run.c += here * run.c_row;
    }
}

/* All taps of the task's channels, by one tile of k. */
static void multiply(const wgrad_task *t, const wgrad_block *block, int64_t tile,
                     const wgrad_panel *panel, bool first, float *sums)
{
    const wgrad_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    const int64_t step = panel_step(plan, tile), columns = plan->tile_columns,
                  channel = plan->copied ? plan->copy.channel : s->x.channel,
                  along = s->axis[2].taps;
    wgrad_tile run = {.a_row = channel, .c_row = s->taps * columns, .first = first};
    for (int64_t tap = 0; tap < s->taps; tap += plan->taps_are_rows ? along : 1) {
        set_loops(t, block, tap, panel, &run);
        run.c = sums + tap * columns;
        if (!plan->taps_are_rows) {
            multiply_rows(run, t->channels, step / RY_W);
            continue;
        }
        run.a_row = s->axis[2].dilation * plan->copy.step[2];
        run.c_row = columns;
        for (int64_t i = 0; i < t->channels; i++) {
            multiply_rows(run, along, step / RY_W);
            run.a += channel;
            run.c += s->taps * columns;
        }
    }
}

static void run_block(const wgrad_task *t, int64_t index, bool first)
{
    const wgrad_plan *plan = t->plan;
    const wgrad_block block = ry_wgrad_block(plan, index);
    if (plan->copied) {
        ry_wgrad_copy(plan, &block, t->channels, t->x, t->copy);
    }
    if (plan->together) {
        pack_dy(t, &block, 0, t->tiles, t->panel);
    }
    for (int64_t i = 0; i < t->tiles; i++) {
        if (!plan->together && !plan->in_place) {
            pack_dy(t, &block, i, i + 1, t->panel);
        }
        const wgrad_panel panel = panel_of(t, &block, i);
        if (plan->shape.bias && t->channel == 0) {
            add_bias(&panel, &block, plan->shape.axis[2].out, panel_step(plan, t->tile + i), first,
                     t->bias + i * plan->tile_columns);
        }
        multiply(t, &block, t->tile + i, &panel, first, t->sums + i * t->sums_tile);
    }
}

static wgrad_task task_of(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    char *scratch = launch->scratch;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[0], index, range);
    const int64_t group = range[1].first;
    wgrad_task t = {.plan = plan,
                    .part = range[0].first,
                    .group = group,
                    .tile = range[2].first,
                    .tiles = range[2].count,
                    .channel = range[3].first,
                    .channels = range[3].count,
                    .panel = RY_AT(float, scratch, plan->panel),
                    .copy = RY_AT(float, scratch, plan->x),
                    .sums = RY_AT(float, scratch, plan->sums),
                    .bias = RY_AT(float, scratch, plan->bias)};
    t.x = (const float *)launch->in[0] + (group * s->c + t.channel) * s->x.channel;
    t.dy = (const float *)launch->in[1] + group * s->k * s->dy.channel;
    t.sums_tile = plan->c_block * s->taps * plan->tile_columns;
    if (plan->parts > 1) {
        float *part = (float *)launch->workspace + t.part * plan->part_floats;
        const int64_t tile = group * plan->k_tiles + t.tile;
        t.sums_tile = wgrad_rows(plan) * plan->tile_columns;
        t.sums = part + tile * t.sums_tile + t.channel * s->taps * plan->tile_columns;
        t.bias = part + plan->bias_floats + tile * plan->tile_columns;
    }
    return t;
}

/* Sums of a part without blocks, which are added all the same. */
static void clear(const wgrad_task *t)
{
    const wgrad_plan *plan = t->plan;
    for (int64_t i = 0; i < t->tiles; i++) {
        memset(t->sums + i * t->sums_tile, 0,
               (size_t)(t->channels * plan->shape.taps * plan->tile_columns) * sizeof *t->sums);
        memset(t->bias + i * plan->tile_columns, 0, (size_t)plan->tile_columns * sizeof *t->bias);
    }
}

static void multiply_part(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_task t = task_of(launch, index);
    const wgrad_plan *plan = t.plan;
    const int64_t begin = t.part * plan->blocks / plan->parts,
                  end = (t.part + 1) * plan->blocks / plan->parts;
    if (begin == end) {
        clear(&t);
    }
    for (int64_t block = begin; block < end; block++) {
        run_block(&t, block, block == begin);
    }
    for (int64_t i = 0; plan->parts == 1 && i < t.tiles; i++) {
        const wgrad_piece piece = {.group = t.group,
                                   .channel = (t.tile + i) * plan->tile_columns,
                                   .channels = columns_of(plan, t.tile + i),
                                   .row = t.channel * plan->shape.taps,
                                   .rows = t.channels * plan->shape.taps,
                                   .pitch = plan->tile_columns};
        RY_ISA_SYMBOL(wgrad_store)(&plan->shape, &piece, t.sums + i * t.sums_tile, launch->out[0]);
        if (plan->shape.bias && t.channel == 0) {
            RY_ISA_SYMBOL(wgrad_store_bias)
            (&plan->shape, &piece, t.bias + i * plan->tile_columns, launch->out[1]);
        }
    }
}

static void finish(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[1], index, range);
    const int64_t columns = plan->tile_columns, rows = wgrad_rows(plan), row = range[2].first,
                  tile = range[0].first * plan->k_tiles + range[1].first;
    const wgrad_piece piece = {.group = range[0].first,
                               .channel = range[1].first * columns,
                               .channels = columns_of(plan, range[1].first),
                               .row = row,
                               .rows = range[2].count,
                               .pitch = columns};
    float *sums = (float *)launch->workspace + (tile * rows + row) * columns;
    RY_ISA_SYMBOL(wgrad_add_parts)
    (sums, piece.rows * columns, plan->parts, plan->part_floats);
    RY_ISA_SYMBOL(wgrad_store)(&plan->shape, &piece, sums, launch->out[0]);
    if (plan->shape.bias && row == 0) {
        float *bias = (float *)launch->workspace + plan->bias_floats + tile * columns;
        RY_ISA_SYMBOL(wgrad_add_parts)(bias, columns, plan->parts, plan->part_floats);
        RY_ISA_SYMBOL(wgrad_store_bias)(&plan->shape, &piece, bias, launch->out[1]);
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        multiply_part(launch, task);
    } else {
        finish(launch, task);
    }
}

RY_CPU_KERNEL(conv_bwd_weights_f32_igemm, conv, strict, .simd = RY_SIMD,
              .applicable = ry_wgrad_takes, .knobs = ry_wgrad_knobs, .knob_count = WGRAD_KNOBS,
              .values = ry_wgrad_values, .prepare = ry_wgrad_prepare,
              .initialise = ry_wgrad_initialise, .run = run);
