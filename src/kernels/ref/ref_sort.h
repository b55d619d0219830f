/* SPDX-License-Identifier: Apache-2.0 */
/* A stable sort of positions along a strided row. */
#ifndef RY_KERNELS_REF_SORT_H
#define RY_KERNELS_REF_SORT_H

#include "kernels/ref/ref_common.h"

typedef struct ry_ref_row {
    ry_dtype dtype;
    const void *data;
    int64_t offset, step;
    bool descending;
} ry_ref_row;

/* Sorts count positions of a row; equal elements keep their order; NaN counts as the largest. spare
 * has room for count more. The result is in `positions`. */
void ry_ref_sort(const ry_ref_row *row, int64_t *positions, int64_t *spare, int64_t count);

#endif
