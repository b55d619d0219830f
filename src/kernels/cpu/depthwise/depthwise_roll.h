/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of 3x3 where there are few registers: nine weights and three sums, which roll down the rows of x a vector of columns at a time. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_ROLL_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_ROLL_H

#include "kernels/cpu/common/simd_rows.h"
#include "kernels/cpu/depthwise/depthwise_plane.h"

/* What all planes of a task have in common. */
typedef struct depthwise_roll {
    const depthwise_nchw_plan *plan;
    ry_vm mask[2][ROLL_LOADS]; /* of the loads of a row's first vector and of its last one */
    ry_vf low, high;
    int64_t pitch, to_row, residual_row;
    int64_t rows;  /* that roll together */
    int64_t lanes; /* of a vector that are outputs */
    bool over;     /* may a row be written as a whole vector, over what the next one writes again? */
} depthwise_roll;

/* Of the planes that are bounded as this one is. */
void RY_ISA_SYMBOL(depthwise_roll_make)(const depthwise_nchw_plan *plan, const depthwise_plane *plane, depthwise_roll *roll);

/* Rows first_row to end_row of one output channel. */
void RY_ISA_SYMBOL(depthwise_roll_plane)(const depthwise_roll *roll, const depthwise_plane *plane);

#endif
