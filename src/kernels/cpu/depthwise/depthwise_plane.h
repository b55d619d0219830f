/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the depthwise convolution along rows (depthwise_nchw_plan.h) of one instruction set. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PLANE_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_PLANE_H

#include "kernels/cpu/depthwise/depthwise_nchw_plan.h"
#include "kernels/cpu/simd/isa.h"

typedef struct depthwise_plane {
    const float *x;      /* row 0, column 0 */
    const float *weight; /* [turn of rows][tap column][tap row of the turn] */
    float *y;            /* row 0, column 0 */
    /* NULL: none; row 0, column 0. It may be y itself, where no pixel is written twice */
    const float *residual;
    int64_t residual_row; /* floats from row to row of it */
    float bias, low, high;
    int64_t first_row, end_row; /* rows of y */
} depthwise_plane;

/* Rows first_row to end_row of one output channel, bounded by low and high. */
void RY_ISA_SYMBOL(depthwise_nchw_strips)(const depthwise_nchw_plan *plan,
                                          const depthwise_plane *plane);

/* The same of two output channels of a plan that is `two_planes`. */
void RY_ISA_SYMBOL(depthwise_nchw_two_planes)(const depthwise_nchw_plan *plan,
                                              const depthwise_plane planes[2]);

/* The whole planes of `count` neighbouring output channels from one on, of a plan that has
 * `seven_rows`. */
void RY_ISA_SYMBOL(depthwise_nchw_seven_rows)(const depthwise_nchw_plan *plan,
                                              const depthwise_plane *first, int64_t count);

#endif
