/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the depthwise convolution along channels (depthwise_nhwc_plan.h) of one instruction set. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

typedef struct depthwise_block {
    /* addresses of channel 0 of the block; x: [row][pixel] for a window with a text of its own, [tap][pixel of y] for others */
    const float *const *x;
    float *to[NHWC_ROWS * NHWC_PIXELS]; /* [row][pixel] */
    const float *weight;                /* [tap][packed_step] */
    const float *bias;
    int64_t packed_step, taps, channels;
    int64_t depth, plane; /* sums of as many windows: of x that lies `plane` floats further, and weights taps * packed_step further */
    float low, high;
} depthwise_block;

/* height: 1 or NHWC_ROWS; pixels: NHWC_FEWEST to NHWC_PIXELS; window, stride: as the plan's, stride 1 or 2 unless window is 0. */
void RY_ISA_SYMBOL(depthwise_nhwc_block)(const depthwise_block *block, int64_t window, int64_t stride, int64_t height, int64_t pixels);

#endif
