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
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->packs, task, range);
    RY_ISA_SYMBOL(winograd_pack)
    (plan, launch->in[1], launch->packed_out, range[0].first, range[1].first);
}

typedef struct block {
    int64_t group, index, first, count; /* tiles */
    bool finite;                        /* V, as it came from x */
    const bool *uneven;                 /* may the tile be uneven? [tile] */
} block;

/* range: groups, tiles. */
static block block_of(const winograd_plan *plan, const ry_cut_range range[2])
{
    return (block){.group = range[0].first,
                   .index = range[0].first * plan->blocks + range[1].first / plan->block,
                   .first = range[1].first,
                   .count = range[1].count};
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
        if (winograd_adjacent_columns(plan, k, 1) == 1) {
            bias[phase * room + i % channels] =
                ((const float *)launch->in[2])[bias_offset(plan, &problem->in[2], phase, k)];
        }
    }
    return phases > 1 ? room : 0;
}

/* Products and outputs of some oc blocks. */
static void epilogue_oc_blocks(const winograd_plan *plan, const ry_cpu_launch *launch,
                               const block *b, const float *v, ry_cut_range range,
                               winograd_prefetch *prefetch)
{
    const ry_conv_geometry *g = &plan->geometry;
    char *scratch = launch->scratch;
    const int64_t oc_block = range.first, oc_blocks = range.count;
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

static winograd_inputs inputs_in(const winograd_plan *plan, char *scratch)
{
    return (winograd_inputs){.v = RY_AT(float, scratch, plan->v),
                             .uneven = RY_AT(bool, scratch, plan->uneven),
                             .squares = RY_AT(float, scratch, plan->squares),
                             .stage = RY_AT(float, scratch, plan->stage)};
}

/* V of a block and all its outputs. */
static void run_block(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    winograd_inputs to = inputs_in(plan, launch->scratch);
    winograd_prefetch prefetch = {0};
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    block b = block_of(plan, range);
    b.uneven = to.uneven;
    b.finite = RY_ISA_SYMBOL(winograd_transform_input)(plan, x_of(plan, launch, b.group), b.first,
                                                       b.count, 0, plan->geometry.channels_in, &to);
    if (plan->prefetch_x && task + 1 < launch->prepared->tasks[0]) {
        ry_cut_task(&plan->tasks, task + 1, range);
        const block next = block_of(plan, range);
        ry_winograd_prefetch_input(plan, x_of(plan, launch, next.group), next.first, next.count,
                                   &prefetch);
        ry_winograd_prefetch_spread(plan, plan->oc_blocks, b.count, &prefetch);
    }
    const ry_cut_axis oc_blocks = {plan->oc_blocks, plan->oc_blocks_per_task};
    for (int64_t i = 0; i < plan->oc_block_ranges; i++) {
        epilogue_oc_blocks(plan, launch, &b, to.v, ry_cut_part(&oc_blocks, (size_t)i), &prefetch);
    }
}

static float *shared_v(const winograd_plan *plan, const ry_cpu_launch *launch, const block *b)
{
    return (float *)launch->workspace + b->index * plan->points * plan->v_point;
}

/* The flags of all parts of a block's channels. */
static bool *shared_flags(const winograd_plan *plan, const ry_cpu_launch *launch, const block *b)
{
    return (bool *)launch->workspace + winograd_find_flags(plan) +
           b->index * plan->channel_parts * winograd_part_flags(plan);
}

/* Some channels of the V of a block. */
static void transform_shared(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->transforms, task, range);
    const block b = block_of(plan, range);
    bool *flags = shared_flags(plan, launch, &b) +
                  (int64_t)task % plan->channel_parts * winograd_part_flags(plan);
    winograd_inputs to = inputs_in(plan, launch->scratch);
    to.v = shared_v(plan, launch, &b);
    to.uneven = flags + 1;
    flags[0] = RY_ISA_SYMBOL(winograd_transform_input)(
        plan, x_of(plan, launch, b.group), b.first, b.count, range[2].first, range[2].count, &to);
}

/* Some output channels of a block whose V is there. */
static void run_shared(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    winograd_prefetch prefetch = {0};
    ry_cut_range range[RY_CUT_AXES];
    ry_cut_task(&plan->tasks, task, range);
    block b = block_of(plan, range + 1);
    read_flags(plan, shared_flags(plan, launch, &b), &b, inputs_in(plan, launch->scratch).uneven);
    epilogue_oc_blocks(plan, launch, &b, shared_v(plan, launch, &b), range[0], &prefetch);
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    const winograd_plan *plan = launch->state;
    (!plan->shared ? run_block : launch->phase == 0 ? transform_shared : run_shared)(launch, task);
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
