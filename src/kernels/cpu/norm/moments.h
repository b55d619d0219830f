/* SPDX-License-Identifier: Apache-2.0 */
/* The moments of a part of a row. */
#ifndef RY_KERNELS_CPU_NORM_MOMENTS_H
#define RY_KERNELS_CPU_NORM_MOMENTS_H

/* Mean of `count` numbers and sum of squared differences from it. */
typedef struct ry_moments {
    double count, mean, squares;
} ry_moments;

#endif
