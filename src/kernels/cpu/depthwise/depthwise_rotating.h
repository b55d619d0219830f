/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of 3x3 where there are few registers: nine weights and three sums, which roll down the
 * rows of x a vector of columns at a time. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_ROTATING_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_ROTATING_H

#include "kernels/cpu/depthwise/depthwise_plane.h"
#include "kernels/cpu/simd/simd_rows.h"

/* What all planes of a task have in common. */
typedef struct depthwise_rotating {
    const depthwise_nchw_plan *plan;
    ry_vm mask[2][ROTATING_LOADS]; /* masks of the loads of a row's first and last vector */
    ry_vf low, high;
    int64_t pitch, to_row, residual_row;
    int64_t rows;  /* rows computed together */
    int64_t lanes; /* output lanes of a vector */
    bool over;     /* may a row be written as a full vector, over what the next one writes again? */
} depthwise_rotating;

/* Prepares masks for all planes with this plane's bounds. */
void RY_ISA_SYMBOL(depthwise_rotating_make)(const depthwise_nchw_plan *plan,
                                            const depthwise_plane *plane,
                                            depthwise_rotating *rotating);

/* Rows first_row to end_row of one output channel. */
void RY_ISA_SYMBOL(depthwise_rotating_plane)(const depthwise_rotating *rotating,
                                             const depthwise_plane *plane);

#endif
