/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights as pairs of bfloat16, k block by k block: [step][rows] for PIXELS, [step][columns]
 * for the others. */
#include "kernels/cpu/igemm/gather_program.h"
#include "kernels/cpu/igemm/igemm_bf16.h"

#include <string.h>

static uint32_t weight_at(ry_dtype dtype, const void *w, int64_t i)
{
    switch (dtype) {
    case RY_f16: return ry_f32_to_bf16(ry_f16_to_f32(((const uint16_t *)w)[i]));
    case RY_bf16: return ((const uint16_t *)w)[i];
    default: return ry_f32_to_bf16(((const float *)w)[i]);
    }
}

/* A k block of one output channel, whose weights begin at element `at`; `step` pairs apart. */
static void pack_channel(const igemm_plan *plan, const igemm_phase *p, const igemm_k_block *k_block,
                         ry_dtype dtype, const void *w, int64_t at, uint32_t *to, int64_t step)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, p) + k_block->tap;
    const bool channel_first = plan->mode != IGEMM_ROWS;
    const int64_t outer = channel_first ? k_block->channels : k_block->taps,
                  inner = channel_first ? k_block->taps : k_block->channels;
    int64_t k = 0;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++, k++) {
            const int64_t c = k_block->channel + (channel_first ? o : i), t = channel_first ? i : o;
            const uint32_t weight =
                weight_at(dtype, w, at + c * plan->geometry.w_in + tap[t].weight);
            uint32_t *pair = to + k / 2 * step;
            *pair = k % 2 ? *pair | weight << 16 : weight;
        }
    }
}

void ry_igemm_pack_bf16(const igemm_plan *plan, const ry_problem *problem, const void *w,
                        uint32_t *packed, int64_t oc_block_task)
{
    const ry_conv_geometry *g = &plan->geometry;
    const ry_dtype dtype = ry_type_of(&problem->in[1]);
    const int64_t group = oc_block_task / plan->oc_blocks,
                  oc_block = oc_block_task % plan->oc_blocks;
    const int64_t first = igemm_oc_block_first(plan, oc_block),
                  count = igemm_oc_block_count(plan, oc_block);
    const int64_t step =
        plan->mode == IGEMM_PIXELS ? count : (count + plan->width - 1) / plan->width * plan->width;
    for (int64_t i = 0; i < g->phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        if (p->cut.steps == 0) {
            continue; /* a phase without taps; where all are, there is no memory either */
        }
        uint32_t *to = packed + group * plan->packed_group + p->rooms.packed + first * p->cut.steps;
        memset(to, 0, (size_t)(p->cut.steps * step) * sizeof *to);
        igemm_k_block k_block = {0};
        for (int64_t j = 0; j < p->cut.k_blocks; j++) {
            ry_igemm_next_k_block(plan, p, &k_block);
            for (int64_t m = 0; m < count; m++) {
                pack_channel(plan, p, &k_block, dtype, w,
                             group * g->w_group + (first + m) * g->w_out,
                             to + k_block.first * step + m, step);
            }
        }
    }
}
