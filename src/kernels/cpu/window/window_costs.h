/* SPDX-License-Identifier: Apache-2.0 */
/* What pooling and resize cost: operations at a core's peak, as measured on Zen 4 (EPYC, one thread,
 * 115.2 Gflop/s, AVX-512) with bench/forms, tensors of 200 KiB to 8 MiB in the caches. */
#ifndef RY_KERNELS_CPU_WINDOW_WINDOW_COSTS_H
#define RY_KERNELS_CPU_WINDOW_WINDOW_COSTS_H

static const struct {
    double row;         /* NCHW: of an output row */
    double vector;      /* of a vector that joins another: of an input row, of a row parted into halves */
    double tap, next;   /* of a tap of any other step along a row: its start, and each vector */
    double mean;        /* of a row's divisions */
    double plane, sum;  /* a window of the whole plane: its lanes' sum, and each vector */
    double pixel, load; /* NHWC: of an output position, and each vector that it loads */
} pool_costs = {1220, 82, 480, 40, 800, 634, 90, 576, 58};

static const struct {
    double copied, row;  /* NCHW: of an output row of repeated elements, of any other */
    double two, four;    /* of an element along an axis of so many taps, by rows and by patterns that repeat */
    double many;         /* of a product where there are more taps */
    double pick, gather; /* of an element whose places have no pattern: one tap, two */
    double pixel;        /* NHWC: of an output position */
    double product;      /* NHWC: of a vector and one of its taps */
    double rest;         /* NHWC: along an axis, of channels that are no whole vectors */
} resize_costs = {440, 1486, 5.4, 24, 70, 31, 45, 115, 66, 580};

#endif
