/* SPDX-License-Identifier: Apache-2.0 */
/* Stages the planes of narrow_plan.h. */
#ifndef RY_KERNELS_CPU_NARROW_NARROW_STAGE_H
#define RY_KERNELS_CPU_NARROW_NARROW_STAGE_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/narrow/narrow_plan.h"

typedef struct narrow_stage {
    const narrow_plan *plan;
    ry_dtype dtype;
    const char *x; /* of the group, image 0 */
    float *staged, *lines;
    int64_t image, images; /* that are staged */
    int64_t slice;         /* of x */
    int64_t row;           /* of the output grid: the first */
    int64_t before;        /* zeros left of x; negative: positions of x that lie left of the task's */
    int64_t channel, channels;
} narrow_stage;

void RY_ISA_SYMBOL(narrow_stage_chunk)(const narrow_stage *stage);

#endif
