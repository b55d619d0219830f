/* SPDX-License-Identifier: Apache-2.0 */
/* How a depthwise convolution with channels side by side in memory ("nhwc") is cut: vectors lie along channels.
 *
 * A task computes some rows of a part of the channels, as many of them at once as have what a block needs in the first-level cache, in blocks of one or two rows by a few neighbouring pixels. What a block reads and writes is a
 * table of addresses, made once for all its channels: pixels outside x are a row of zeros, those behind the end of y a row that nobody reads.
 *
 * A task whose x is not f32, or where an output channel does not read the channel of its own number alone, first stages the rows that a
 * block reads in a ring of rows (`staged`): as f32, one float an output channel, and that once for each input channel of a group. A grouped
 * convolution is then a sum of `depth` depthwise ones, with several groups in one vector. Sums that are not finished by bounds go to y by way
 * of scratch (`through`).
 *
 *     weights: [depth][tap][packed_step], then the bias
 *     scratch: zeros and the row nobody reads [channels] | block of sums [NHWC_ROWS * pixels][channels] | ring [depth][row][pixel][channels] | table */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_PLAN_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_PLAN_H

#include "kernels/cpu/conv/conv_geometry.h"

enum { NHWC_ROWS = 2, NHWC_PIXELS = 7, NHWC_FEWEST = 4, NHWC_TABLE = 160, NHWC_DEPTH = 16 };

typedef struct depthwise_nhwc_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t before[2], dilation[2]; /* rows, columns */
    int64_t depth;                  /* input channels of a group */
    int64_t multiplier;             /* output channels of a group */
    int64_t outputs;                /* channels of y */
    int64_t packed_step;            /* the same, whole vectors */
    int64_t rows, row_blocks;       /* output rows of a task */
    int64_t part, channel_parts;    /* channels of a task, whole vectors */
    int64_t channels;               /* of a part that go through the rows together */
    int64_t tasks;
    int64_t height, pixels; /* of a block */
    int64_t window;         /* 3, 5, 7: a text of its own; 0: any */
    int64_t ring, plane;    /* staged rows; floats of the rows of one of the group's input channels, a pixel of zeros behind them */
    bool staged, through;
    size_t sums, ring_at, table, scratch; /* bytes from scratch's start */
} depthwise_nhwc_plan;

bool depthwise_nhwc_suits(const ry_problem *problem, int width);
void depthwise_nhwc_plan_make(const ry_problem *problem, int width, depthwise_nhwc_plan *plan);

#endif
