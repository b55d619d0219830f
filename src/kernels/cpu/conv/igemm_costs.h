/* SPDX-License-Identifier: Apache-2.0 */
/* What the moves of the implicit GEMM cost, fitted to measurements of the layers of bench/layers.txt
 * and of random ones on Zen 3 and Zen 4 with AVX2 and AVX-512 (docs/notes/). Unless another unit is
 * named: cycles in which a core begins one vector's multiply-add. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_COSTS_H
#define RY_KERNELS_CPU_CONV_IGEMM_COSTS_H

static const struct {
    /* of a task, beside taking it */
    double program; /* offsets and a program of loads */
    double plain;   /* the same where x is read in place */
    /* of a vector on its way into a panel */
    double store;    /* writing it */
    double pair;     /* rounding it and joining it with its neighbour */
    double pick;     /* two loads and a permutation */
    double join;     /* the same of another row of the grid, whose lanes join those before */
    double lanes;    /* loading a lane, where they lie too far apart to be permuted */
    double copy;     /* copying it to its sliver, from a cache line that holds more of them */
    double row_copy; /* copying it to a row of the panel */
    double taps;     /* a tap in a program, whatever its vectors */
    double gather;   /* a run of a pixel's taps, beside its vectors */
    /* of a float that comes to the core, where half of it hides behind the arithmetic */
    double second;       /* from the second-level cache */
    double outer;        /* from those behind it */
    double outer_pieces; /* times `outer`, in pieces rather than long runs */
    double split_vector; /* of vectors that lie in two cache lines */
    double split_row;    /* of a tile's rows that do */
    double far;          /* from memory, in pieces of as many planes as there are channels */
    double far_ahead;    /* the same where the tiles before fetch it */
    double far_run;      /* the same in long runs */
    double far_gather;   /* the same where it is gathered */
    double far_apart;    /* the same where what lies between counts, too */
    double line;         /* times these, where vectors are copied: small tiles begin two multiply-adds in one's time */
    /* of pages, and sets of the first-level cache */
    double page_floats;
    double pages;       /* whose addresses the core has at hand */
    double page_row;    /* a broadcast from one that it has not */
    double page_vector; /* a small tile's vector from one */
    double crowded;     /* a step of a small tile where the lines of all planes meet in one set */
    int crowded_planes; /* that it has no room for */
    /* of a tile */
    double tile;          /* beside its vectors */
    double chunk_vector;  /* starting and ending a vector of sums, in every chunk */
    double finish;        /* a vector on its way from a block of sums to y */
    double finish_turned; /* the same where it is transposed in registers */
    double finish_apart;  /* the same where it is scattered */
    double run;           /* a run of pixels of one channel there, beside its vectors */
    double uneven;        /* of a task: threads are never quite alike */
    /* of a copy of x */
    double x_copy;      /* a vector */
    double x_outer;     /* beside that, where it comes from the outer caches */
    double x_far;       /* or from memory, there and back */
    double copy_margin; /* times all: a copy drives other things out of the caches */
    /* of all rows of taps, those that read x, where leaving out the others gains nothing */
    double rows_alive;
} igemm_costs = {
    .program = 2820,
    .plain = 620,
    .store = 3.5,
    .pair = 1.0,
    .pick = 4.0,
    .join = 6.0,
    .lanes = 2.0,
    .copy = 6.0,
    .row_copy = 2.0,
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
    .uneven = 0.5,
    .x_copy = 6.0,
    .x_outer = 8.0,
    .x_far = 46.0,
    .copy_margin = 1.05,
    .rows_alive = 0.9,
};

#endif
