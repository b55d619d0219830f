/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of the staged convolution, of vectors and rows that are in the caches, as they were measured on Zen 4 (2026-11), one thread. */
#ifndef RY_KERNELS_CPU_CONV_DIRECT_COSTS_H
#define RY_KERNELS_CPU_CONV_DIRECT_COSTS_H

typedef struct direct_cycles {
    double task;               /* work of a task at least, where there is so much, as times that taking it takes: some ten microseconds */
    double row;                /* of a staged row, beside its vectors */
    double part[4];            /* of a staged vector: [stride - 1], as many as DIRECT_STRIDE_MOST */
    double tap, column, chain; /* by columns: of a tap; of a column at least; where one row is all, and sums wait for themselves (Zen 5) */
    double column_end, column_block; /* of a vector's start and end, of a task */
    double product, end;             /* staged: of a tap's product beside its load, of a vector of sums */
    double way, block;               /* of a row's way to y, of a task */
    double step, vector, start;      /* in place: of a tap, of a vector's start and end, of a row of a block */
    double far;                      /* of a float of x that comes from memory, row by row of many planes; of y, too, which takes as long
                                        where one tap is all */
} direct_cycles;

static const direct_cycles direct_costs = {.task = 52,
                                           .row = 6,
                                           .part = {9, 17, 38, 36},
                                           .tap = 1.2,
                                           .column = 3.6,
                                           .chain = 6,
                                           .column_end = 3,
                                           .column_block = 115,
                                           .product = 0.63,
                                           .end = 7.5,
                                           .way = 22,
                                           .block = 24,
                                           .step = 1,
                                           .vector = 3,
                                           .start = 20,
                                           .far = 1};

#endif
