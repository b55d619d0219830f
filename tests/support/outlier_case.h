/* SPDX-License-Identifier: Apache-2.0 */
/* A number far above its neighbours spoils no output whose window does not hold it: a kernel holds
 * each output to an error in proportion to the sum of the output's own products' magnitudes. */
#ifndef OUTLIER_CASE_H
#define OUTLIER_CASE_H

#include "kernel_case.h"

/* What is tried. */
typedef struct outlier_subject {
    bool (*is_tried)(const kernel_case *c, const ry_kernel *kernel);
    int64_t points; /* value of the first knob, "points"; RY_KNOB_FREE: kernels choose */
} outlier_subject;

/* Runs a problem with every kind of outliers, in both layouts, and prints each failure. Adds the
 * number of comparisons to *compared; returns the number of failures. */
int outlier_failures(const char *problem, uint32_t seed, const outlier_subject *subject,
                     int *compared);

#endif
