/* SPDX-License-Identifier: Apache-2.0 */
/* Packs weights into oc blocks: [k][rows] for PIXELS, [k][columns] (full vectors, zeros behind the
 * last channel) for the others. */
#include "kernels/cpu/igemm/igemm.h"

#include "kernels/cpu/igemm/igemm_k_block.h"
#include "kernels/cpu/parts/pack_rows.h"
#include "kernels/cpu/simd/simd.h"

static float weight_at(ry_dtype dtype, const void *w, int64_t i)
{
    switch (dtype) {
    case RY_f16: return ry_f16_to_f32(((const uint16_t *)w)[i]);
    case RY_bf16: return ry_bf16_to_f32(((const uint16_t *)w)[i]);
    default: return ((const float *)w)[i];
    }
}

/* A k block of one output channel, whose weights begin at element `at`; `step` floats apart. */
static void pack_channel(const igemm_plan *plan, const igemm_phase *p, const igemm_k_block *k_block,
                         ry_dtype dtype, const void *w, int64_t at, float *to, int64_t step)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, p) + k_block->tap;
    const ry_conv_geometry *g = &plan->geometry;
    const bool channel_first = plan->mode != IGEMM_ROWS;
    const int64_t outer = channel_first ? k_block->channels : k_block->taps,
                  inner = channel_first ? k_block->taps : k_block->channels;
    for (int64_t o = 0; o < outer; o++) {
        for (int64_t i = 0; i < inner; i++, to += step) {
            const int64_t c = k_block->channel + (channel_first ? o : i), t = channel_first ? i : o;
            const int64_t from = at + c * g->w_in + tap[t].weight;
            if (dtype == RY_f32 || dtype == RY_i32) {
                memcpy(to, (const char *)w + from * 4, 4);
            } else {
                *to = weight_at(dtype, w, from);
            }
        }
    }
}

/* Do a channel's weights are in the order of the reduction, one step apart? */
static bool in_order(const igemm_plan *plan, const igemm_phase *p)
{
    const ry_conv_tap *tap = igemm_phase_taps(plan, p);
    const ry_conv_geometry *g = &plan->geometry;
    if (p->where.at.taps == 1) {
        return true;
    }
    bool ordered = plan->mode != IGEMM_ROWS && (g->w_in == p->where.at.taps || g->channels_in == 1);
    for (int64_t t = 0; t < p->where.at.taps; t++) {
        ordered = ordered && tap[t].weight == t;
    }
    return ordered && p->where.at.taps > 0 &&
           (p->cut.k_block_taps == p->where.at.taps || p->cut.k_block_channels == 1);
}

void RY_ISA_SYMBOL(igemm_pack)(const igemm_plan *plan, const ry_problem *problem, const void *w,
                               float *packed, int64_t oc_block_task)
{
    const ry_conv_geometry *g = &plan->geometry;
    const int64_t group = oc_block_task / plan->oc_blocks,
                  oc_block = oc_block_task % plan->oc_blocks;
    const int64_t first = igemm_oc_block_first(plan, oc_block),
                  count = igemm_oc_block_count(plan, oc_block);
    const int64_t step = plan->mode == IGEMM_PIXELS ? count : (count + RY_W - 1) / RY_W * RY_W;
    for (int64_t i = 0; i < g->phases; i++) {
        const igemm_phase *p = &plan->phase[i];
        float *to = packed + group * plan->packed_group + p->rooms.packed + first * p->cut.depth;
        const ry_dtype dtype = ry_type_of(&problem->in[1]);
        const int64_t from = group * g->w_group + first * g->w_out;
        if (in_order(plan, p)) {
            const ry_conv_tap *tap = igemm_phase_taps(plan, p);
            RY_ISA_SYMBOL(pack_micropanel)
            (dtype, (const char *)w + (from + tap->weight) * (int64_t)ry_dtype_size(dtype),
             p->where.at.taps == 1 ? g->w_in : 1, g->w_out, p->cut.depth, count, step, to);
            continue;
        }
        for (int64_t k = 0; step > count && k < p->cut.depth; k++) {
            memset(to + k * step + count, 0, (size_t)(step - count) * sizeof *to);
        }
        igemm_k_block k_block = {0};
        for (int64_t j = 0; j < p->cut.k_blocks; j++) {
            ry_igemm_next_k_block(plan, p, &k_block);
            for (int64_t m = 0; m < count; m++) {
                pack_channel(plan, p, &k_block, dtype, w, from + m * g->w_out,
                             to + k_block.first * step + m, step);
            }
        }
    }
}
