/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of the depthwise convolutions, of vectors whose data lies in the first-level cache, as they were measured on Zen 4
 * with AVX-512 and AVX2 (2026-11), one thread, by layers of many sizes. Where Zen 5 differs, the comment says so. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_COSTS_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_COSTS_H

typedef struct depthwise_nchw_costs {
    double plane;                /* beside its rows: weights, addresses */
    double add;                  /* of a vector of sums that y has, of the passes before */
    double seven[2];             /* of a vector in a text of seven rows: of one plane, of two */
    double roll[2][2];           /* [one vector a row][stride - 1]: of a vector that rolls */
    double tap[2][2];            /* [paired][stride - 1] (long vectors with a stride: 2.5, 1.9 on Zen 5) */
    double end[2][2];            /* [paired][stride - 1]: of a vector's start and end */
    double long_parting;         /* share of a tap's time: long vectors that are parted into even and odd pixels, beside short ones */
    double square;               /* less of a vector's end, where the weights of a 3x3 window stay in registers */
    double narrow;               /* more of it, where a row is one vector */
    double alone_tap, alone_end; /* more, as shares, for rows that go through their vectors alone */
} depthwise_nchw_costs;

typedef struct depthwise_nhwc_costs {
    double tap[3][3];       /* of a vector: [mix][window with unit stride, with stride 2, any window] */
    double read_planes[2];  /* of a vector of planes that is transposed on its way in: short, long (9 on Zen 5) */
    double write_planes[2]; /* on its way out (12 on Zen 5) */
    double staged;          /* of a vector that is copied */
    double end;             /* of a pixel's vector: its start and end */
    double through;         /* the same where it ends in scratch and goes on pixel by pixel */
    double address;         /* of an entry of a table */
    double
        far; /* of a float of planes that come from memory, a few lines of many at a time, where one tap does not make up for it: other kernels read long runs */
} depthwise_nhwc_costs;

/* nchw_task, nhwc_task: work of a task at least, where there is so much, as times that taking it takes (some five and
 * three microseconds). */
static const struct {
    double nchw_task, nhwc_task;
    depthwise_nchw_costs nchw;
    depthwise_nhwc_costs nhwc;
} depthwise_costs = {
    .nchw_task = 42,
    .nhwc_task = 52,
    .nchw = {.plane = 70,
             .add = 3,
             .seven = {12, 15},
             .roll = {{13, 24}, {18, 36}},
             .tap = {{1.05, 2.5}, {1.4, 2.5}},
             .end = {{7, 10}, {20, 22}},
             .long_parting = 0.84,
             .square = 4,
             .narrow = 4,
             .alone_tap = 1.2,
             .alone_end = 0.3},
    .nhwc = {.tap = {{1.2, 1.4, 2.0}, {1.4, 1.8, 3.2}, {2.0, 2.8, 4.2}},
             .read_planes = {6, 8},
             .write_planes = {8, 11},
             .staged = 3,
             .end = 4,
             .through = 10,
             .address = 0.5,
             .far = 1.5},
};

#endif
