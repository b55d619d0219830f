/* SPDX-License-Identifier: Apache-2.0 */
/* What the moves of the implicit GEMM cost, fitted to measurements of the layers of bench/layers.txt and of random ones on Zen 3 and Zen 4, with
 * AVX2 and AVX-512 (docs/convolution.md). Unless another unit is named: cycles in which a core begins one vector's multiply-add. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_COSTS_H
#define RY_KERNELS_CPU_CONV_IGEMM_COSTS_H

static const struct {
    /* of a task, beside taking it */
    double program, plain; /* offsets and a program of loads; the same where x is read in place */
    /* of a vector on its way into a panel */
    double store, pair; /* writing it; rounding it and joining it with its neighbour */
    double pick, join;  /* two loads and a permutation; the same of another row of the grid, whose lanes join those before */
    double copy;        /* copying it to its sliver, from a cache line that holds more of them */
    double row_copy;    /* copying it to a row of the panel */
    double lanes;       /* loading a lane, where they lie too far apart to be permuted */
    double taps;        /* of a tap in a program, whatever its vectors */
    double gather;      /* of a run of a pixel's taps, beside its vectors */
    /* of a float that comes to the core, where half of it hides behind the arithmetic */
    double second, outer; /* from the second-level cache; from those behind it */
    double outer_pieces;  /* of `outer`, in pieces rather than long runs */
    double split_vector;  /* the same of vectors that lie in two cache lines */
    double split_row;     /* the same of a tile's rows */
    double far, far_ahead,
        far_run; /* of memory: in pieces of as many planes as there are channels; where the tiles before fetch it; in long runs */
    double far_gather, far_apart; /* the same where it is gathered; and what lies between counts, too */
    double line; /* times `far_gather` and so on, where vectors are copied: cores with small tiles begin two multiply-adds in one's time */
    /* of pages and sets of the first-level cache */
    double page_floats, pages;    /* of a page; whose addresses the core has at hand */
    double page_row, page_vector; /* a broadcast, a small tile's vector from a page that it has not */
    double crowded;               /* a step of a small tile where the lines of all planes meet in one set of the first-level cache */
    int crowded_planes;           /* that it has no room for */
    /* of a tile */
    double tile;         /* beside its vectors */
    double chunk_vector; /* starting and ending a vector of sums, in every chunk */
    double finish, finish_turned,
        finish_apart; /* a vector on its way from a block of sums to y: as it lies; transposed in registers; scattered */
    double run;       /* a run of pixels of one channel there, beside its vectors */
    /* of a copy of x */
    double x_copy, x_outer, x_far; /* a vector; the same from the outer caches; of memory, there and back */
    double copy_margin;            /* times all, for a copy drives other things out of the caches: what it gains must be worth that */
    double rows_alive;             /* of all rows of taps, those that read x, where leaving out the others gains nothing */
    double uneven;                 /* of a task, for threads are never quite alike */
} igemm_costs = {
    .program = 2820,
    .plain = 620,
    .store = 3.5,
    .pair = 1.0,
    .pick = 4.0,
    .join = 6.0,
    .copy = 6.0,
    .row_copy = 2.0,
    .lanes = 2.0,
    .taps = 15.0,
    .gather = 20.0,
    .second = 1.0 / 32.0,
    .outer = 4.0 / 24.0,
    .outer_pieces = 1.5,
    .split_vector = 0.19,
    .split_row = 0.13,
    .far = 1.5,
    .far_ahead = 0.5,
    .far_run = 0.3,
    .far_gather = 0.6,
    .far_apart = 0.45,
    .line = 2.0,
    .page_floats = 1024,
    .pages = 64,
    .page_row = 2.5,
    .page_vector = 1.0,
    .crowded = 8.0,
    .crowded_planes = 10,
    .tile = 30.0,
    .chunk_vector = 4.0,
    .finish = 8.0,
    .finish_turned = 10.0,
    .finish_apart = 50.0,
    .run = 12.0,
    .x_copy = 6.0,
    .x_outer = 8.0,
    .x_far = 46.0,
    .copy_margin = 1.05,
    .rows_alive = 0.9,
    .uneven = 0.5,
};

#endif
