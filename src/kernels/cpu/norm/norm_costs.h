/* SPDX-License-Identifier: Apache-2.0 */
/* What the normalisations cost: operations at a core's peak, as measured on Zen 4 (EPYC, one thread,
 * 115.2 Gflop/s, AVX-512) with bench/forms, tensors of 100 KiB to 6 MiB in the caches. */
#ifndef RY_KERNELS_CPU_NORM_NORM_COSTS_H
#define RY_KERNELS_CPU_NORM_NORM_COSTS_H

static const struct {
    struct {
        double row;     /* NCHW: of one channel, beside moving it */
        double element; /* NHWC: beside moving it */
        double factor;  /* NHWC: of a channel in each task, a division and a root in float64 */
    } batch;
    struct {
        double first, last; /* of an element, NCHW and NHWC: three passes */
        double row;         /* NCHW: of one channel */
    } group;
    struct {
        double element, long_element; /* of rows with one sum a lane, and of rows in parts */
        double row;
    } layer;
    struct {
        double roots, power;              /* of an element: two roots, any other exponent */
        double column_square, row_square; /* of an element and one of the squares that it adds up */
    } lrn;
    struct {
        double element; /* an exponential, and three passes in L1 */
        double row;     /* its largest element and its sum, reduced across lanes */
    } softmax;
} norm_costs = {
    .batch = {265, 1, 350},
    .group = {19.4, 16.5, 415},
    .layer = {17, 20.9, 480},
    .lrn = {63, 300, 3.5, 12.2},
    .softmax = {44, 1000},
};

#endif
