/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a convolution by tiles of split bfloat16, for one instruction set. */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_CONV_H
#define RY_KERNELS_CPU_AMX_SPLIT_CONV_H

#include "kernels/cpu/amx/split_plan.h"
#include "kernels/cpu/simd/amx_tile.h"
#include "kernels/cpu/simd/isa.h"

/* A convolution as a kernel does it, whose state is the plan and whose weights ry_split_pack has
 * packed. */
void RY_ISA_SYMBOL(split_run)(const ry_cpu_launch *launch, size_t task);

/* Splits row `index` (below batch * groups * rows) of x into the workspace, and states its range;
 * stage: SPLIT_STRIP * SPLIT_STEP floats. */
void RY_ISA_SYMBOL(split_row)(const split_plan *plan, const float *x, void *workspace,
                              int64_t index, float *stage);

/* sums[pixel][SPLIT_OC_BLOCK] of `count` pixels (room for full tiles) from `pixel` on, with one oc
 * block's weights, by tiles that have been begun. */
void RY_ISA_SYMBOL(split_multiply)(const split_plan *plan, const uint16_t *pixel, int64_t count,
                                   const uint16_t *weights, int64_t channels, ry_amx *tiles,
                                   float *sums);

typedef struct split_end {
    /* at the image's first output and the oc block's first channel; the same for the residual
     * (NULL: none) */
    float *y;
    const float *residual;
    float bias[SPLIT_OC_BLOCK];
    int64_t channels;
    ry_activation_of activation;
    bool bounds; /* the activation is low <= y <= high */
    float low, high;
} split_end;

/* Bias, residual, activation and y's own order in memory; changes sums. transposed: room for as
 * many, where y's channels are apart. */
void RY_ISA_SYMBOL(split_output)(const split_plan *plan, const split_task *task,
                                 const split_end *end, float *sums, float *transposed);

#endif
