/* SPDX-License-Identifier: Apache-2.0 */
/* Copies rows of x to scratch, as staged_plan.h says. */
#ifndef RY_KERNELS_CPU_STAGED_STAGED_STAGE_H
#define RY_KERNELS_CPU_STAGED_STAGED_STAGE_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/staged/staged_plan.h"

typedef struct staged_stage {
    const staged_plan *plan;
    ry_dtype dtype;
    const char *x; /* the group's first element in image 0 */
    float *staged, *lines;
    int64_t image, images; /* first image; images staged */
    int64_t slice;         /* slice of x */
    int64_t row;           /* first row of the output grid */
    int64_t before; /* zeros left of x; negative: positions of x that are left of the task's */
    int64_t channel, channels;
} staged_stage;

void RY_ISA_SYMBOL(staged_stage_k_block)(const staged_stage *stage);

#endif
