/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the staged convolution (direct_plan.h) of one instruction set. */
#ifndef RY_KERNELS_CPU_CONV_DIRECT_H
#define RY_KERNELS_CPU_CONV_DIRECT_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/conv/direct_plan.h"

/* Stages what `rows` output rows from first_row on read of one group of one image. */
void RY_ISA_SYMBOL(direct_stage)(const direct_plan *plan, const ry_cpu_launch *launch, int64_t image, int64_t group, int64_t first_row,
                                 int64_t rows, float *to);

#if RY_GRAIN < RY_W
#define DIRECT_HAS_HALF true
#define DIRECT_FMA_HALF ry_vf_fma_half
#else
#define DIRECT_HAS_HALF false
#define DIRECT_FMA_HALF ry_vf_fma
#endif

/* A group of one image: its first channels, weights and bias. */
typedef struct direct_group {
    const float *x, *weight, *bias, *residual; /* residual: NULL: none */
    float *y;
    float low, high;
} direct_group;

/* in_place: `rows` rows of all output channels of a group. */
void RY_ISA_SYMBOL(direct_planes)(const direct_plan *plan, const direct_group *group, int64_t first_row, int64_t rows);

/* by_rows: the sums of `count` rows of one channel, bounded, to[row * to_row + column]. */
void RY_ISA_SYMBOL(direct_rows)(const direct_plan *plan, const float *staged, const float *weight, float bias, int64_t count, float low,
                                float high, float *to, int64_t to_row);

#endif
