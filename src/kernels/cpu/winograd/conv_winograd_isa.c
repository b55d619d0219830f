/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: convolution of stride 1 or 2, or transposed, in Winograd's form. */
#include "base/integer.h"
#include "base/room.h"
#include "kernels/cpu/parts/conv_kernel.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/winograd/winograd.h"
#include "kernels/cpu/winograd/winograd_prepare.h"

static void pack(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    RY_ISA_SYMBOL(winograd_pack)
    (plan, launch->in[1], launch->packed_out, (int64_t)task / plan->oc_blocks,
     (int64_t)task % plan->oc_blocks);
}

typedef struct block {
    int64_t group, index, first, count; /* tiles */
    bool finite;                        /* V, as it came from x */
    const bool *uneven;                 /* may the tile be uneven? [tile] */
} block;

static block find_block(const winograd_plan *plan, int64_t index)
{
    block b = {.group = index / plan->blocks, .index = index};
    b.first = index % plan->blocks * plan->block;
    b.count = plan->tiles - b.first < plan->block ? plan->tiles - b.first : plan->block;
    return b;
}

static const float *x_of(const winograd_plan *plan, const ry_cpu_launch *launch, int64_t group)
{
    return (const float *)launch->in[0] +
           group * plan->geometry.channels_in * plan->geometry.x_channel;
}

/* The bias of a column in a phase, from the first output channel's on: where phases have their own,
 * in the order of the strides. */
static int64_t bias_offset(const winograd_plan *plan, const ry_tensor *bias, int64_t phase,
                           int64_t channel)
{
    const winograd_fold *f = &plan->fold;
    const int64_t wide = plan->axis[1].output_stride,
                  k = f->channels ? channel % f->room % f->channels : channel;
    const int64_t at[2] = {f->channels ? channel / f->room : phase / wide,
                           f->channels ? channel % f->room / f->channels : phase % wide};
    int64_t offset = k * bias->stride[0];
    for (int i = 0; i < 2; i++) {
        const winograd_axis *axis = &plan->axis[i];
        const int dim = bias->rank - 2 + i; /* a single spatial dimension is the width */
        const int64_t residue =
            f->channels ? at[i]
                        : (at[i] - axis->output_offset + axis->output_stride) % axis->output_stride;
        offset += dim < 1 ? 0 : residue * bias->stride[dim];
    }
    return offset;
}

/* The columns' bias, zeros where there is none and behind the last; of each phase where they
 * differ. Returns the floats from one's to the next. */
static int64_t read_bias(const winograd_plan *plan, const ry_cpu_launch *launch, int64_t channel,
                         int64_t channels, int64_t room, float *bias)
{
    const ry_problem *problem = launch->problem;
    const int64_t phases = plan->geometry.phase_bias ? plan->phases : 1;
    memset(bias, 0, (size_t)(phases * room) * sizeof *bias);
    for (int64_t i = 0; ry_problem_has_input(problem, 2) && i < phases * channels; i++) {
        const int64_t phase = i / channels, k = channel + i % channels;
        if (winograd_columns_beside(plan, k, 1) == 1) {
            bias[phase * room + i % channels] =
                ((const float *)launch->in[2])[bias_offset(plan, &problem->in[2], phase, k)];
        }
    }
    return phases > 1 ? room : 0;
}

/* Products and outputs of `oc_blocks` oc blocks. */
static void epilogue_oc_blocks(const winograd_plan *plan, const ry_cpu_launch *launch,
                               const block *b, const float *v, int64_t oc_block, int64_t oc_blocks,
                               winograd_prefetch *prefetch, char *scratch)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t first = oc_block * plan->tile_columns, left = g->channels_out - first,
                  room = oc_blocks * plan->tile_columns;
    const int64_t channels = left < room ? left : room, before = b->group * g->channels_out;
    float *y = (float *)launch->out[0] + before * g->y_channel;
    float *m = RY_AT(float, scratch, plan->m), *bias = RY_AT(float, scratch, plan->bias);
    winograd_prefetch outputs = {0};
    if (plan->prefetch_y) {
        ry_winograd_prefetch_output(plan, y, b->first, b->count, first, channels, &outputs);
        ry_winograd_prefetch_spread(plan, oc_blocks, b->count, &outputs);
    }
    const float *packed = (const float *)launch->packed + b->group * plan->packed_group;
    RY_ISA_SYMBOL(winograd_multiply)
    (plan, v, packed, b->count, oc_block, oc_blocks, m, prefetch, &outputs);
    const int64_t bias_phase = read_bias(plan, launch, before + first, channels, room, bias);
    winograd_epilogue end = {.y = y,
                             .channel = first,
                             .bias = bias,
                             .bias_phase = bias_phase,
                             .activation = ry_conv_activation(launch->problem)};
    if (ry_problem_has_input(launch->problem, 3)) {
        end.residual = (const float *)launch->in[3] + before * g->r_channel;
    }
    end.bounds = ry_activation_bounds(end.activation, &end.low, &end.high);
    float *stage = RY_AT(float, scratch, plan->stage);
    const bool finite = RY_ISA_SYMBOL(winograd_transform_output)(plan, m, b->first, b->count,
                                                                 channels, &end, stage);
    if (!finite || !b->finite || memchr(b->uneven, true, (size_t)b->count)) {
        const winograd_block fixed_up = {b->first, b->count,  oc_block, oc_blocks,
                                         finite,   b->finite, b->uneven};
        const float *w = (const float *)launch->in[1] + b->group * g->w_group + g->w_first;
        (void)RY_ISA_SYMBOL(winograd_fixup)(plan, x_of(plan, launch, b->group), w, m, &fixed_up,
                                            &end, stage,
                                            RY_AT(winograd_outputs, scratch, plan->outputs));
    }
}

/* V is shared: what the tasks that transformed the parts of the block's channels found. */
static void read_flags(const winograd_plan *plan, const bool *flags, block *b, bool *uneven)
{
    memset(uneven, 0, (size_t)b->count * sizeof *uneven);
    b->finite = true;
    b->uneven = uneven;
    for (int64_t part = 0; part < plan->channel_parts; part++, flags += winograd_part_flags(plan)) {
        b->finite = b->finite && flags[0];
        for (int64_t i = 0; i < b->count; i++) {
            uneven[i] = uneven[i] || flags[1 + i];
        }
    }
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    char *scratch = launch->scratch;
    bool *uneven = (bool *)(scratch + plan->uneven);
    winograd_inputs to = {.v = RY_AT(float, scratch, plan->v),
                          .uneven = uneven,
                          .squares = RY_AT(float, scratch, plan->squares),
                          .stage = RY_AT(float, scratch, plan->stage)};
    const int64_t index = (int64_t)task, channels = plan->geometry.channels_in;
    winograd_prefetch prefetch = {0};
    if (!plan->shared) {
        block b = find_block(plan, index);
        b.uneven = uneven;
        b.finite = RY_ISA_SYMBOL(winograd_transform_input)(plan, x_of(plan, launch, b.group),
                                                           b.first, b.count, 0, channels, &to);
        if (plan->prefetch_x && index + 1 < plan->geometry.groups * plan->blocks) {
            const block next = find_block(plan, index + 1);
            ry_winograd_prefetch_input(plan, x_of(plan, launch, next.group), next.first, next.count,
                                       &prefetch);
            ry_winograd_prefetch_spread(plan, plan->oc_blocks, b.count, &prefetch);
        }
        for (int64_t oc_block = 0; oc_block < plan->oc_blocks;
             oc_block += plan->oc_blocks_per_task) {
            const int64_t left = plan->oc_blocks - oc_block;
            epilogue_oc_blocks(plan, launch, &b, to.v, oc_block,
                               left < plan->oc_blocks_per_task ? left : plan->oc_blocks_per_task,
                               &prefetch, scratch);
        }
    } else if (launch->phase == 0) {
        const block b = find_block(plan, index / plan->channel_parts);
        const int64_t channel = index % plan->channel_parts * plan->channels_a_part,
                      left = channels - channel;
        bool *flags = (bool *)launch->workspace + winograd_find_flags(plan) +
                      index * winograd_part_flags(plan);
        to.v = (float *)launch->workspace + b.index * plan->points * plan->v_point;
        to.uneven = flags + 1;
        flags[0] = RY_ISA_SYMBOL(winograd_transform_input)(
            plan, x_of(plan, launch, b.group), b.first, b.count, channel,
            ry_min(left, plan->channels_a_part), &to);
    } else {
        /* tasks that run at the same time share the weights, which are larger than a block */
        const int64_t blocks = plan->geometry.groups * plan->blocks;
        block b = find_block(plan, index % blocks);
        read_flags(plan,
                   (const bool *)launch->workspace + winograd_find_flags(plan) +
                       b.index * plan->channel_parts * winograd_part_flags(plan),
                   &b, uneven);
        const int64_t oc_block = index / blocks * plan->oc_blocks_per_task,
                      left = plan->oc_blocks - oc_block;
        const float *v = (const float *)launch->workspace + b.index * plan->points * plan->v_point;
        epilogue_oc_blocks(plan, launch, &b, v, oc_block,
                           left < plan->oc_blocks_per_task ? left : plan->oc_blocks_per_task,
                           &prefetch, scratch);
    }
}

#define KERNELS(name, class)                                                                    \
    RY_CONV_KERNELS_OF(name, class, .simd = RY_SIMD, .knobs = ry_winograd_knobs,                \
                       .knob_count = WINOGRAD_KNOBS, .values = ry_winograd_values,              \
                       .applicable = ry_winograd_takes_##class, .prepare = ry_winograd_prepare, \
                       .initialise = ry_winograd_initialise, .pack = pack, .run = run,          \
                       .packed_inputs = 1u << 1, .kept_inputs = 1u << 1,                        \
                       .packing = ry_winograd_packing)

KERNELS(f32_winograd, near32);
KERNELS(f32_winograd_strict, strict);
