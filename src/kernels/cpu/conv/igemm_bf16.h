/* SPDX-License-Identifier: Apache-2.0 */
/* Products of bfloat16 in the implicit GEMM. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_BF16_H
#define RY_KERNELS_CPU_CONV_IGEMM_BF16_H

#include "kernels/cpu/conv/igemm_plan.h"

/* Packs the weights of one unit of one group (unit_task below groups * units) for a plan of pairs. */
void igemm_pack_bf16(const igemm_plan *plan, const ry_problem *problem, const void *w, uint32_t *packed, int64_t unit_task);

#ifdef RY_ISA_NAME
#include "kernels/cpu/conv/tile.h"

extern const ry_tile_pairs RY_ISA_SYMBOL(ry_bf16_pairs);

/* Preferred to the same method in f32 and not to those for special shapes; plain C, where products of bfloat16 cost more than others, is only
 * tested. */
#define IGEMM_BF16_RANK (RY_ISA_ID == RY_ISA_generic ? 90 : 106 + 10 * (int)RY_ISA_avx512)
#endif

#endif
