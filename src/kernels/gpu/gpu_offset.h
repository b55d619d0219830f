/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of texts that turn the number of an element into its offset in a tensor. */
#ifndef RY_KERNELS_GPU_GPU_OFFSET_H
#define RY_KERNELS_GPU_GPU_OFFSET_H

#include "kernels/kernel.h"

/* Dims, outermost first, with a stride each; of dim 1 they may be left out. */
typedef struct ry_gpu_dims {
    int rank;
    int64_t dim[RY_MAX_RANK], stride[RY_MAX_RANK];
} ry_gpu_dims;

/* Adds a dim as the innermost. */
void ry_gpu_dims_add(ry_gpu_dims *dims, int64_t dim, int64_t stride);

/* `FUNCTION INDEX name(INDEX i)`: the offset, in elements, of element i of the dims in row-major
 * order. Dims that continue each other are one. */
void ry_gpu_define_offset(ry_text *text, const char *name, const ry_gpu_dims *dims);

#endif
