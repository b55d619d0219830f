/* SPDX-License-Identifier: Apache-2.0 */
/* Packs the weights of a block of output channels as tiles of split pairs. */
#include "base/room.h"
#include "kernels/cpu/amx/split_plan.h"

/* One weight's parts, `apart` elements from each other. */
static void split_weight(float weight, int64_t parts, uint16_t *to, int64_t part_step)
{
    uint32_t bits = ry_f32_bits(weight);
    for (int64_t i = 0; i < parts; i++) {
        uint32_t left;
        to[i * part_step] = (uint16_t)(split_next_part(bits, &left) >> 16);
        bits = left;
    }
}

static void widen(split_range *range, float weight)
{
    const uint32_t bits = ry_f32_bits(weight) & 0x7fffffffu;
    range->low = bits - 1 < range->low ? bits - 1 : range->low;
    range->high = bits > range->high ? bits : range->high;
}

void ry_split_pack(const ry_cpu_launch *launch, size_t task)
{
    const split_plan *plan = launch->state;
    const float *w = launch->in[1];
    void *packed = launch->packed_out;
    const int64_t index = (int64_t)task;
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t group = index / plan->oc_blocks, first = index % plan->oc_blocks * SPLIT_OC_BLOCK;
    const int64_t channels =
        g->channels_out - first < SPLIT_OC_BLOCK ? g->channels_out - first : SPLIT_OC_BLOCK;
    uint16_t *to = RY_AT(uint16_t, packed, plan->weights) + index * plan->oc_block_packed;
    split_range range = {UINT32_MAX, 0};
    memset(to, 0, (size_t)plan->oc_block_packed * sizeof *to);
    for (int64_t m = 0; m < channels; m++) {
        const float *from = w + group * g->w_group + (first + m) * g->w_out;
        for (int64_t t = 0; t < g->taps; t++) {
            for (int64_t c = 0; c < g->channels_in; c++) {
                const float weight = from[split_taps(plan)[t].weight + c * g->w_in];
                const int64_t tile = (t * plan->steps + c / SPLIT_STEP) * plan->parts * 2 + m / 16;
                const int64_t pair = c % SPLIT_STEP / 2 * 16 + m % 16;
                split_weight(weight, plan->parts, to + tile * SPLIT_TILE + pair * 2 + c % 2,
                             2 * SPLIT_TILE);
                widen(&range, weight);
            }
        }
    }
    ((split_range *)packed)[index] = range;
}
