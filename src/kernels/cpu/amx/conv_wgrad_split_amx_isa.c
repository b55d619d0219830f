/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: the weight gradient of convolutions by tiles of bfloat16, with operands split in three,
 * in two (float32 classes) or rounded (wgrad_split_plan.h). */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/amx/wgrad_split.h"
#include "kernels/cpu/parts/cpu_kernel.h"

typedef struct wgrad_split_task {
    const wgrad_split_plan *plan;
    int64_t part;
    wgrad_split_piece piece;
    bool first_of_x, first_of_dy; /* first of the tasks that pack the same part of x, of dy */
    wgrad_split_sums of;
    uint16_t *x_copy, *dy_copy;
    int64_t x_residue, x_shift, dy_part; /* elements from copy to copy */
    char *scratch, *share;
} wgrad_split_task;

static wgrad_split_task task_of(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_split_plan *plan = launch->state;
    const wgrad_shape *s = &plan->shape;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[0], index, range);
    wgrad_split_task t = {.plan = plan,
                          .part = range[0].first,
                          .first_of_x = plan->parts == 1 || range[2].first == 0,
                          .first_of_dy = plan->parts == 1 || range[3].first == 0,
                          .scratch = launch->scratch};
    wgrad_split_piece *p = &t.piece;
    p->group = range[1].first;
    p->channel = range[3].first * WGRAD_SPLIT_PAIR;
    p->channels = ry_min(plan->c_block * WGRAD_SPLIT_PAIR, s->c - p->channel);
    p->out = range[2].first * WGRAD_SPLIT_PAIR;
    p->outs = ry_min(plan->k_block * WGRAD_SPLIT_PAIR, s->k - p->out);
    t.share = plan->parts == 1 ? t.scratch + plan->sums
                               : (char *)launch->workspace + (size_t)t.part * plan->share;
    t.of = ry_wgrad_split_sums_of(plan, t.share, p);
    t.x_copy = RY_AT(uint16_t, t.scratch, plan->x);
    t.dy_copy = RY_AT(uint16_t, t.scratch, plan->dy);
    t.x_shift = plan->c_block * 2 * plan->splits * plan->plane;
    t.x_residue = plan->shifts * t.x_shift;
    t.dy_part = plan->k_block * WGRAD_SPLIT_PAIR * plan->row;
    return t;
}

/* Zeros the sums of the task, and the channels that tiles read beyond the last one. */
static void begin_task(const wgrad_split_task *t, bool blocks)
{
    const wgrad_split_plan *plan = t->plan;
    const wgrad_split_piece *p = &t->piece;
    for (int64_t row = 0; !blocks && row < p->outs * plan->shape.taps; row++) {
        memset(t->of.sums + row * plan->pitch, 0, (size_t)p->channels * sizeof *t->of.sums);
    }
    if (t->first_of_dy) {
        memset(t->of.bias, 0, (size_t)p->outs * sizeof *t->of.bias);
    }
    for (int64_t i = 0; t->first_of_x && i < p->channels; i++) {
        t->of.x_ranges[i] = (split_range){UINT32_MAX, 0};
    }
    for (int64_t i = 0; t->first_of_dy && i < p->outs; i++) {
        t->of.dy_ranges[i] = (split_range){UINT32_MAX, 0};
    }
    if ((p->channels | p->outs) % SPLIT_LANES) {
        memset(t->scratch + plan->x, 0, plan->stage - plan->x);
    }
}

static wgrad_split_source source_of(const wgrad_split_task *t, const wgrad_operand *operand,
                                    const float *from, int64_t channel)
{
    const wgrad_split_plan *plan = t->plan;
    return (wgrad_split_source){
        .from = from + channel * operand->channel,
        .channel = operand->channel,
        .step = operand->step[2],
        .runs = (const wgrad_split_run *)(const void *)(t->scratch + plan->runs),
        .stage = RY_AT(float, t->scratch, plan->stage),
        .positions_from = RY_AT(const float *, t->scratch, plan->from),
    };
}

static void pack_x(const wgrad_split_task *t, const wgrad_split_block *block, const float *x)
{
    const wgrad_split_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    wgrad_split_source source = source_of(t, &s->x, x, t->piece.group * s->c + t->piece.channel);
    source.step *= s->axis[2].stride;
    source.channels = t->piece.channels;
    source.positions = plan->positions;
    source.ranges = plan->splits > 1 && t->first_of_x ? t->of.x_ranges : NULL;
    for (int64_t residue = 0; residue < plan->residues; residue++) {
        uint16_t *to = t->x_copy + residue * t->x_residue;
        source.run_count = ry_wgrad_split_runs_of_x(plan, block, residue,
                                                    RY_AT(wgrad_split_run, t->scratch, plan->runs));
        RY_ISA_SYMBOL(wgrad_split_pack_pairs)
        (&source, plan->splits, plan->plane, to, plan->shifts > 1 ? to + t->x_shift : NULL);
    }
}

static void pack_dy(const wgrad_split_task *t, const wgrad_split_block *block, const float *dy,
                    int64_t steps)
{
    const wgrad_split_plan *plan = t->plan;
    const wgrad_shape *s = &plan->shape;
    wgrad_split_source source = source_of(t, &s->dy, dy, t->piece.group * s->k + t->piece.out);
    source.channels = t->piece.outs;
    source.positions = steps * WGRAD_SPLIT_PAIR;
    source.run_count =
        ry_wgrad_split_runs_of_dy(plan, block, RY_AT(wgrad_split_run, t->scratch, plan->runs));
    source.ranges = plan->splits > 1 && t->first_of_dy ? t->of.dy_ranges : NULL;
    source.totals = s->bias && t->piece.channel == 0 ? t->of.bias : NULL;
    RY_ISA_SYMBOL(wgrad_split_pack_rows)
    (&source, plan->splits, t->dy_copy, plan->row, t->dy_part);
}

/* All taps of 32 output channels from k on by 32 input channels from c on, both of the task's. */
static void multiply_pair(const wgrad_split_task *t, int64_t k, int64_t c, int64_t steps,
                          bool first, ry_amx *tiles)
{
    const wgrad_split_plan *plan = t->plan;
    const int64_t taps = plan->shape.taps, rows = ry_min(WGRAD_SPLIT_PAIR, t->piece.outs - k),
                  columns = ry_min(WGRAD_SPLIT_PAIR, t->piece.channels - c);
    wgrad_split_product product = {.dy = t->dy_copy + k * plan->row,
                                   .row = plan->row,
                                   .part_step = t->dy_part,
                                   .plane = plan->plane,
                                   .steps = steps,
                                   .two_rows = rows > SPLIT_LANES,
                                   .two_columns = columns > SPLIT_LANES,
                                   .sums = RY_AT(float, t->scratch, plan->tile)};
    const uint16_t *x = t->x_copy + c / SPLIT_LANES * plan->splits * plan->plane;
    for (int64_t tap = 0; tap < taps; tap++) {
        const wgrad_split_tap at = ry_wgrad_split_tap(plan, tap);
        product.x = x + at.residue * t->x_residue + at.shift % 2 * t->x_shift +
                    at.shift / 2 * WGRAD_SPLIT_PAIR;
        RY_ISA_SYMBOL(wgrad_split_multiply)(&product, plan->splits, tiles);
        RY_ISA_SYMBOL(wgrad_split_add)
        (product.sums, rows, columns, taps * plan->pitch, first,
         t->of.sums + (k * taps + tap) * plan->pitch + c);
    }
}

static void multiply_part(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_split_task t = task_of(launch, index);
    const wgrad_split_plan *plan = t.plan;
    const int64_t begin = t.part * plan->blocks / plan->parts,
                  end = (t.part + 1) * plan->blocks / plan->parts;
    begin_task(&t, begin < end);
    ry_amx tiles;
    ry_amx_begin(&tiles);
    for (int64_t i = begin; i < end; i++) {
        const wgrad_split_block block = ry_wgrad_split_block(plan, i);
        const int64_t steps = ry_wgrad_split_steps(plan, &block);
        pack_x(&t, &block, launch->in[0]);
        pack_dy(&t, &block, launch->in[1], steps);
        for (int64_t c = 0; c < t.piece.channels; c += WGRAD_SPLIT_PAIR) {
            for (int64_t k = 0; k < t.piece.outs; k += WGRAD_SPLIT_PAIR) {
                multiply_pair(&t, k, c, steps, i == begin, &tiles);
            }
        }
    }
    ry_amx_end(&tiles);
    if (plan->parts == 1) {
        RY_ISA_SYMBOL(wgrad_split_finish)(launch, &t.piece, t.share);
    }
}

static void add_shares(const ry_cpu_launch *launch, size_t index)
{
    const wgrad_split_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks[1], index, range);
    const wgrad_split_piece piece = {.group = range[0].first,
                                     .out = range[1].first,
                                     .outs = range[1].count,
                                     .channels = plan->shape.c};
    RY_ISA_SYMBOL(wgrad_split_finish)(launch, &piece, launch->workspace);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    if (launch->phase == 0) {
        multiply_part(launch, task);
    } else {
        add_shares(launch, task);
    }
}

#define KERNEL(symbol, class)                                                         \
    RY_CPU_KERNEL(symbol, conv, class, .applicable = ry_wgrad_split_is_possible,      \
                  .knobs = ry_wgrad_split_knobs, .knob_count = WGRAD_SPLIT_KNOBS,     \
                  .values = ry_wgrad_split_values, .prepare = ry_wgrad_split_prepare, \
                  .initialise = ry_wgrad_split_initialise, .run = run)

KERNEL(conv_bwd_weights_f32_split_strict, strict);
KERNEL(conv_bwd_weights_f32_split, near32);
KERNEL(conv_bwd_weights_bf16_split, bf16);
