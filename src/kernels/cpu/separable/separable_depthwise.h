/* SPDX-License-Identifier: Apache-2.0 */
/* The depthwise half of a separable convolution. */
#ifndef RY_KERNELS_CPU_SEPARABLE_SEPARABLE_DEPTHWISE_H
#define RY_KERNELS_CPU_SEPARABLE_SEPARABLE_DEPTHWISE_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/separable/separable_plan.h"

typedef struct separable_middle {
    const separable_plan *plan;
    const float *x;      /* of the image */
    const float *packed; /* the depthwise weights, then their bias */
    const float *zeros;
    float *nobody;
    float low, high; /* bounds of the result */
} separable_middle;

/* One output row of all channels, [pixel][channel] with plan->m_step between pixels. */
void RY_ISA_SYMBOL(separable_depthwise_row)(const separable_middle *middle, int64_t row, float *to);

#endif
