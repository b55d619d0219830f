/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of the convolution of few input channels, as they were measured on Zen 4 (2026-11), one thread. */
#ifndef RY_KERNELS_CPU_STEM_STEM_COSTS_H
#define RY_KERNELS_CPU_STEM_STEM_COSTS_H

#include <stdint.h>

typedef struct stem_cycles {
    int64_t ends, turned_ends, turned_row; /* of a vector of outputs beside its sum: its start and end; being turned on its way; of
                                                  each output channel's row that is turned */
    int64_t step_least[2];                 /* of a step of a tile at least, in multiply-adds, as sums wait for themselves: four
                                                  cycles, in each of which two of short vectors start, and one of long ones */
    double tile, row, task, bias;          /* of a tile beside its vectors, of a staged row, of a task and a channel's bias in it */
    double staged_vector, staged_float;    /* of staging a vector, and a float that comes alone */
} stem_cycles;

static const stem_cycles stem_costs = {.ends = 4,
                                       .turned_ends = 12,
                                       .turned_row = 20,
                                       .step_least = {8, 4},
                                       .tile = 36,
                                       .row = 30,
                                       .task = 600,
                                       .bias = 0.125,
                                       .staged_vector = 3.0,
                                       .staged_float = 1.5};

#endif
