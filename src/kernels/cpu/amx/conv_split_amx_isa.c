/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution by tiles of bfloat16, with operands split in three, in two (float32 classes)
 * or rounded. */
#include "base/room.h"
#include "kernels/cpu/amx/split_conv.h"
#include "kernels/cpu/amx/split_prepare.h"
#include "kernels/cpu/parts/cpu_kernel.h"

static void split_rows(const split_plan *plan, const ry_cpu_launch *launch, size_t task,
                       char *scratch)
{
    ry_cut_range rows[RY_CUT_AXES];
    ry_cut_task(&plan->row_tasks, task, rows);
    for (int64_t i = rows->first; i < rows->first + rows->count; i++) {
        RY_ISA_SYMBOL(split_row)
        (plan, launch->in[0], launch->workspace, i, RY_AT(float, scratch, plan->sums));
    }
}

/* Where a task's outputs, and an oc block's channels of them, go. */
static split_end end_of(const split_plan *plan, const ry_cpu_launch *launch, const split_task *t,
                        int64_t oc_block)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t first = oc_block * SPLIT_OC_BLOCK, left = g->channels_out - first,
                  channel = t->group * g->channels_out + first;
    split_end end = {.y = (float *)launch->out[0] + t->image * g->y_batch + channel * g->y_channel,
                     .channels = left < SPLIT_OC_BLOCK ? left : SPLIT_OC_BLOCK,
                     .activation = ry_conv_activation(launch->problem)};
    if (ry_problem_has_input(launch->problem, 2)) {
        const int64_t step = launch->problem->in[2].stride[0];
        for (int64_t i = 0; i < end.channels; i++) {
            end.bias[i] = ((const float *)launch->in[2])[(channel + i) * step];
        }
    }
    if (ry_problem_has_input(launch->problem, 3)) {
        end.residual =
            (const float *)launch->in[3] + t->image * g->r_batch + channel * g->r_channel;
    }
    end.bounds = ry_activation_bounds(end.activation, &end.low, &end.high);
    return end;
}

static void multiply_oc_blocks(const split_plan *plan, const ry_cpu_launch *launch, int64_t task,
                               char *scratch)
{
    const ry_conv_geometry *g = &plan->geometry;
    const split_task t = ry_split_task_at(plan, (size_t)task);
    const int64_t part = t.image * g->groups + t.group;
    const int64_t origin = (t.depth * plan->plane[1] + t.row) * plan->plane[2] + t.first;
    const uint16_t *pixel =
        (const uint16_t *)(const void *)((const char *)launch->workspace + plan->copies) +
        part * plan->copy + origin * plan->pitch;
    const float *x = (const float *)launch->in[0] + t.image * g->x_batch +
                     t.group * g->channels_in * g->x_channel;
    float *sums = RY_AT(float, scratch, plan->sums);
    const split_range range = ry_split_rows_read(plan, &t, launch->workspace);
    ry_amx tiles;
    ry_amx_begin(&tiles);
    for (int64_t oc_block = t.oc_block; oc_block < t.oc_block + t.oc_blocks; oc_block++) {
        const int64_t number = t.group * plan->oc_blocks + oc_block;
        const split_end end = end_of(plan, launch, &t, oc_block);
        const uint16_t *weights =
            (const uint16_t *)(const void *)((const char *)launch->packed + plan->weights) +
            number * plan->oc_block_packed;
        RY_ISA_SYMBOL(split_multiply)(plan, pixel, t.count, weights, end.channels, &tiles, sums);
        const split_guard guard =
            ry_split_guard_of(plan, range, ((const split_range *)launch->packed)[number]);
        if (plan->parts > 1 && (guard.overflow || guard.min > 0)) {
            const float *w = (const float *)launch->in[1] + t.group * g->w_group +
                             oc_block * SPLIT_OC_BLOCK * g->w_out;
            ry_split_fixup(plan, &t, x, w, guard, end.channels, sums);
        }
        RY_ISA_SYMBOL(split_output)
        (plan, &t, &end, sums, RY_AT(float, scratch, plan->transposed));
    }
    ry_amx_end(&tiles);
}

void RY_ISA_SYMBOL(split_run)(const ry_cpu_launch *launch, size_t task)
{
    char *scratch = launch->scratch;
    if (launch->phase == 0) {
        split_rows(launch->state, launch, task, scratch);
    } else {
        multiply_oc_blocks(launch->state, launch, (int64_t)task, scratch);
    }
}

#define KERNEL(symbol, class)                                                              \
    RY_CPU_KERNEL(symbol, conv, class, .knobs = ry_split_knobs, .knob_count = SPLIT_KNOBS, \
                  .values = ry_split_values, .applicable = ry_split_is_possible,           \
                  .prepare = ry_split_prepare, .initialise = ry_split_initialise,          \
                  .pack = ry_split_pack, .run = RY_ISA_SYMBOL(split_run),                  \
                  .packed_inputs = 1u << 1, .packing = ry_split_packing,                   \
                  .kept_inputs = RY_ACCURACY_##class == RY_ACCURACY_bf16 ? 0 : 1u << 1)

KERNEL(conv_fwd_f32_split_strict, strict);
KERNEL(conv_fwd_f32_split, near32);
KERNEL(conv_fwd_bf16_split, bf16);
