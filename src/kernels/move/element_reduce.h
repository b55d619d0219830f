/* SPDX-License-Identifier: Apache-2.0 */
/* In-place reductions of rows of any dtype: dst[i] = f(dst[i], src[i]), for the scatter operators.
 */
#ifndef RY_KERNELS_MOVE_ELEMENT_REDUCE_H
#define RY_KERNELS_MOVE_ELEMENT_REDUCE_H

#include "problem/attrs.h"

/* Strides in bytes; places: the offset of each element of dst, or NULL. Integers wrap; bool: add
 * and max are or, mul and min are and; max and min give NaN if either is. */
typedef void (*ry_reduce_row)(char *dst, int64_t dst_stride, const int64_t *positions,
                              const char *src, int64_t src_stride, int64_t count);

/* NULL for reduction none */
ry_reduce_row ry_reduce_row_of(ry_dtype dtype, ry_scatter_reduction reduction);

#endif
