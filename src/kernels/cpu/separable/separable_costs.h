/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of separable convolutions beside those of their depthwise half, as they were measured on Zen 4 (2026-11), one thread. */
#ifndef RY_KERNELS_CPU_SEPARABLE_SEPARABLE_COSTS_H
#define RY_KERNELS_CPU_SEPARABLE_SEPARABLE_COSTS_H

typedef struct separable_cycles {
    double strip;      /* of a strip: its addresses */
    double ends;       /* of a vector of a tile: its start and end */
    double weight;     /* of a float of weights that comes from the second-level cache, for each strip */
    double read_twice; /* of a row's time, as a share: reading a row of x that another core has read, too (a guess) */
} separable_cycles;

static const separable_cycles separable_costs = {.strip = 1000, .ends = 4, .weight = 2.0 / 24.0, .read_twice = 0.05};

#endif
