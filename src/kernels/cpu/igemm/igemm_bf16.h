/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 in the implicit GEMM. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_BF16_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_BF16_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Packs the weights of one oc block of one group (oc_block_task below groups * oc blocks) for a
 * plan of pairs. */
void ry_igemm_pack_bf16(const igemm_plan *plan, const ry_problem *problem, const void *w,
                        uint32_t *packed, int64_t oc_block_task);

#ifdef RY_ISA_NAME
#include "kernels/cpu/parts/tile.h"

extern const ry_tile_pairs RY_ISA_SYMBOL(bf16_pairs);

/* What ry_kernel.simd says of products of pairs: half a vector takes as long as a whole one. */
#define RY_SIMD_PAIRS                                                                          \
    {                                                                                          \
        .width = RY_W, .lane_multiple = RY_W, .rows = RY_TILE_ROWS, .vectors = RY_TILE_VECTORS \
    }
#endif

#endif
