/* SPDX-License-Identifier: Apache-2.0 */
/* The moments of a part of a row. */
#ifndef RY_KERNELS_CPU_NORM_MOMENTS_H
#define RY_KERNELS_CPU_NORM_MOMENTS_H

/* Of `count` numbers: their mean, and the sum of squares of differences from it. */
typedef struct ry_moments {
    double count, mean, squares;
} ry_moments;

#endif
