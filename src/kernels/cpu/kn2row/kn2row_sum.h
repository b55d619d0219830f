/* SPDX-License-Identifier: Apache-2.0 */
/* The sums of kn2row_plan.h for a row of outputs. */
#ifndef RY_KERNELS_CPU_KN2ROW_KN2ROW_SUM_H
#define RY_KERNELS_CPU_KN2ROW_KN2ROW_SUM_H

#include <stdint.h>

/* Output channels that are summed side by side. */
enum { KN2ROW_TOGETHER = 4 };

/* What a tap adds to a row: `at`[column], for columns from `first` to below `end`. */
typedef struct kn2row_source {
    const float *at; /* output channel 0 */
    int64_t first, end;
} kn2row_source;

#endif
