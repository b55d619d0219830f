/* SPDX-License-Identifier: Apache-2.0 */
/* What steps of matrix products cost beside their multiply-adds, in multiply-adds of a vector; fitted to
 * times of single products on Zen 4, one thread, November 2026. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_COSTS_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_COSTS_H

typedef struct matmul_costs {
    double task;         /* of a task until its loops run, beside taking it */
    double product;      /* a multiply-add of a blocked product, with the ways of its operands */
    double pack_row;     /* a vector of b that is packed where b lies along n */
    double pack_row_far; /* the same where b is larger than the caches: each row is on a page of its own */
    double pack_column;  /* the same of b along k, whose squares are transposed */
    double pack_element; /* an element of b that lies neither way */
    double pack_a;       /* an element of a */
    double crowded;      /* an element of a where it lies, for each tile, where a tile's rows meet in one set of the first-level cache */
    double pack_rounded; /* an element of b that is rounded to bfloat16 */
    double pack_float24; /* the same to 24 bits */
    double tile;         /* a vector of sums, from its tile to y or to scratch and back, for each chunk */
    double tile_call;    /* a tile, beside its vectors */
    double dot;          /* a vector of products that are added up lane by lane at the end, for each vector of k */
    double piece;        /* a piece of a row of b that is read where it lies */
    double piece_far;    /* the same where b is larger than the caches */
    double float24[2];   /* making a vector of floats of 24 bits and scaling it: where lanes are shuffled in registers, and in plain C */
} matmul_costs;

static const matmul_costs matmul_cost = {
    .task = 1000,
    .product = 1.1,
    .pack_row = 4,
    .pack_row_far = 40,
    .pack_column = 6,
    .pack_element = 2,
    .pack_a = 1.2,
    .crowded = 0.5,
    .pack_rounded = 4,
    .pack_float24 = 20,
    .tile = 4,
    .tile_call = 30,
    .dot = 0.35,
    .piece = 6,
    .piece_far = 60,
    .float24 = {3.5, 6},
};

#endif
