/* SPDX-License-Identifier: Apache-2.0 */
/* The variant of the depthwise convolution along channels (depthwise_nhwc_plan.h) of one
 * instruction set. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_H

#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"
#include "kernels/cpu/simd/isa.h"

typedef struct depthwise_block {
    /* addresses of channel 0 of the block: [slice][row][pixel], or [slice][row][tap][pixel of y] */
    const float *const *x;
    float *to[NHWC_ROWS * NHWC_PIXELS]; /* [row][pixel] */
    int64_t shift, to_shift;            /* x and y are stored so many floats further */
    /* rows at the table's end whose lines are fetched, those that no line before has read; 0:
     * nothing is */
    int64_t fresh;
    /* what is fetched is stored so many floats further than what is read and written */
    int64_t prefetch_x, prefetch_y;
    const float *weight; /* [tap][packed_step] */
    const float *bias;
    int64_t packed_step, taps, channels, lanes;
    /* slices of the table; entries and taps between slices */
    int64_t slices, slice_step, slice_taps;
    int64_t rows, row_step; /* rows of a slice; entries between rows */
    /* two lines: the table begins with this row of line 0's window; rows of a window */
    int64_t first_row, line_rows;
    /* any window: taps of a row, entries between taps, between pixels */
    int64_t columns, tap_step, pixel_step;
    /* sums of as many windows: of x that is a channel further, and weights that are stored
     * `taps` further */
    int64_t depth;
    /* how each vector reads x; NULL: output channel i reads input channel i */
    const depthwise_reading *reading;
    float low, high;
} depthwise_block;

/* A task on its way. */
typedef struct depthwise_work {
    const depthwise_nhwc_plan *plan;
    const ry_cpu_launch *launch;
    int64_t image, channel, channels; /* first output channel and how many */
    int64_t input, inputs;            /* the channels of x that they read */
    ry_activation_of activation;
    float *zeros, *dump, *sums, *ring;
    const float **table;
    /* sliding table: the offset its first line reads, that line's slice, and the height of its
     * block; 0: no table */
    int64_t anchor, anchor_slice, anchored;
    depthwise_reading *reading;
    int32_t *lanes;
    int64_t stage_first, stage_end; /* rows of x that its lines read */
    /* rows of x (slices, where there are several) before it are in the ring, or were */
    int64_t staged_end;
} depthwise_work;

/* Lines [first, end) of an image, all channels; scratch: plan->scratch bytes. The plan is the
 * launch's state. */
void RY_ISA_SYMBOL(depthwise_nhwc_lines)(const ry_cpu_launch *launch, int64_t image, int64_t first,
                                         int64_t end, char *scratch);
/* Task 0 to plan->depth of packing plan->packed floats. */
void RY_ISA_SYMBOL(depthwise_nhwc_pack)(const ry_cpu_launch *launch, size_t task);

/* height: 1, or NHWC_ROWS where the window is of 3 or, without mix, of 5 or 7; pixels: NHWC_FEWEST
 * to NHWC_PIXELS; window, stride: the plan's. */
void RY_ISA_SYMBOL(depthwise_nhwc_block)(const depthwise_block *block, int64_t window,
                                         int64_t stride, int64_t height, int64_t pixels);
/* The same with the plan's mix, 1 or 2. */
void RY_ISA_SYMBOL(depthwise_nhwc_permuted)(const depthwise_block *block, int sources,
                                            int64_t window, int64_t stride, int64_t height,
                                            int64_t pixels);

/* Stages what `height` output rows from line (slice z, row y) on read. */
void RY_ISA_SYMBOL(depthwise_nhwc_stage)(depthwise_work *work, int64_t z, int64_t y,
                                         int64_t height);

/* The activation of `lines` lines of sums, plan->turns apart, that were written where they belong.
 */
void RY_ISA_SYMBOL(depthwise_nhwc_activate)(const depthwise_work *work, int64_t line,
                                            int64_t lines);
/* Residual, activation, conversion: of one pixel's sums; of `lines` lines of sums whose channels
 * are transposed into planes. */
void RY_ISA_SYMBOL(depthwise_nhwc_finish_pixel)(const depthwise_work *work, int64_t line,
                                                int64_t column, float *sum);
void RY_ISA_SYMBOL(depthwise_nhwc_finish_planes)(const depthwise_work *work, int64_t line,
                                                 int64_t lines);

#endif
