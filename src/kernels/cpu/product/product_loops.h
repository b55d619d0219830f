/* SPDX-License-Identifier: Apache-2.0 */
/* The loops over elements of products, for each type. */
#ifndef RY_KERNELS_CPU_PRODUCT_PRODUCT_LOOPS_H
#define RY_KERNELS_CPU_PRODUCT_PRODUCT_LOOPS_H

#include "kernels/cpu/product/product_plan.h"
#include "kernels/cpu/product/product_tile.h"

/* What is packed: element (run, point) is at data[base + its point's offset + its run's], and goes
 * to to[run's index * run_step + point's index * point_step]. Of the two steps one is 1. */
typedef struct product_source {
    const void *data;
    int64_t base;
    const product_nest *nest;
    int axes; /* the nest's, or 0 */
    const int64_t *points, *run_points;
    const product_run *runs;
    int64_t point_count, point_step, run_count, run_step;
} product_source;

/* Where a row of n sums goes. Absent operands are NULL. */
typedef struct product_row {
    const void *sums, *bias, *residual;
    void *y;
    int64_t n, at[PRODUCT_OPERANDS], step[PRODUCT_OPERANDS];
} product_row;

typedef struct product_loops {
    product_type type;
    size_t size; /* bytes of a sum */
    void (*gather)(const product_source *s, void *to);
    void (*store)(const product_finish *how, const product_row *row);
    /* sums[i] += the sum over k of tile[k][width], i < n */
    void (*add)(void *sums, const void *tile, int64_t depth, int64_t width, int64_t n);
} product_loops;

/* [1]: with integers summed in 64 bits */
extern const product_loops RY_ISA_SYMBOL(product_loops)[RY_DTYPES][2];

#endif
