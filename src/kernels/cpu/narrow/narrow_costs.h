/* SPDX-License-Identifier: Apache-2.0 */
/* Cycles of convolutions to few output channels, as they were measured on Zen 4 (2026-11), one thread. */
#ifndef RY_KERNELS_CPU_NARROW_NARROW_COSTS_H
#define RY_KERNELS_CPU_NARROW_NARROW_COSTS_H

typedef struct narrow_cycles {
    double fetch;             /* of a float of x that does not lie in a core's own caches */
    double run;               /* of a row's way to y, beside its vectors */
    double stage;             /* share of one counted for staging that is measured */
    double task;              /* of taking a task, its bias and its runs */
    double line, turned_line; /* of a row of x that is staged, beside its vectors: of pixels, of pixels with their channels */
    double move;              /* of a vector's loads, permutations and stores */
    double turned, apart;     /* of a vector that is turned with as many others, that is put together from floats apart */
    double step_least;        /* of a tap: vectors that straddle two cache lines take the time of so many products */
    double chunk;             /* of a vector of sums that goes on with the next chunk */
    double end, end_apart;    /* of a vector's way to y: to its place, to places apart */
} narrow_cycles;

static const narrow_cycles narrow_costs = {.fetch = 0.25,
                                           .run = 25,
                                           .stage = 1.1,
                                           .task = 2000,
                                           .line = 20,
                                           .turned_line = 12,
                                           .move = 2,
                                           .turned = 4,
                                           .apart = 20,
                                           .step_least = 1.6,
                                           .chunk = 6,
                                           .end = 6,
                                           .end_apart = 40};

#endif
