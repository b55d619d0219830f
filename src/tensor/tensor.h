/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes, layouts (affine index maps: one stride a dimension), and tensors as views of memory.
 *
 * ry_tensor is the public rynd_tensor. A description (dtype, dims, strides) is a ry_tensor whose
 * data is NULL. */
#ifndef RY_TENSOR_TENSOR_H
#define RY_TENSOR_TENSOR_H

#include "base/status.h"
#include "tensor/dtype.h"

#define RY_MAX_RANK RYND_MAX_RANK

typedef rynd_tensor ry_tensor;

typedef struct ry_shape {
    int rank; /* -1: unknown */
    int64_t dim[RY_MAX_RANK];
} ry_shape;

/* Products. Both fail (-1) on overflow of int64. A negative dim (a symbol) gives -1 too. */
int64_t ry_shape_elements(const ry_shape *shape);
int64_t ry_shape_bytes(const ry_shape *shape, ry_dtype dtype);
bool ry_shape_equal(const ry_shape *a, const ry_shape *b);
ry_shape ry_shape_of(int rank, const int64_t *dim);

/* Row-major ("nchw" for images) without gaps. */
ry_tensor ry_tensor_row_major(ry_dtype dtype, const ry_shape *shape, void *data);
/* Channels last ("nhwc"): dimension 1 is innermost. Rank below 3: row-major. */
ry_tensor ry_tensor_channels_last(ry_dtype dtype, const ry_shape *shape, void *data);
ry_shape ry_tensor_shape(const ry_tensor *tensor);
int64_t ry_tensor_count(const ry_tensor *tensor);
size_t ry_tensor_bytes(const ry_tensor *tensor); /* bytes of the elements, without gaps */
/* From element 0 to the end of the last one in memory; 0 where a stride is negative. */
size_t ry_tensor_span(const ry_tensor *tensor);
/* Bytes from the first element's address to the lowest and behind the highest one; false when they
 * are more than an address counts. Of a tensor with elements. */
bool ry_tensor_range(const ry_tensor *tensor, int64_t *low, int64_t *high);
/* The first dim whose stride makes elements overlap, or -1. */
int ry_tensor_sharing_dim(const ry_tensor *tensor);
/* Has each element of two tensors of one shape the same offset? */
bool ry_tensor_same_map(const ry_tensor *a, const ry_tensor *b);
bool ry_tensor_is_row_major(const ry_tensor *tensor); /* strides of dims of size 1 do not matter */
/* likewise; true for both when the two agree */
bool ry_tensor_is_channels_last(const ry_tensor *tensor);
const char *ry_layout_name(const ry_tensor *tensor); /* "nchw", "nhwc" or "strided" */
bool ry_tensor_present(const ry_tensor *tensor);     /* dtype is not RY_NONE */

/* Broadcasts as ONNX does (numpy's rules): false when dims disagree. */
bool ry_shape_broadcast(const ry_shape *a, const ry_shape *b, ry_shape *out);

/* axis in [-rank, rank) to [0, rank); -1 when outside. */
int ry_axis(int64_t axis, int rank);

/* Copies src into dst of the same shape: any strides, any dtypes (ry_set_* rules). Single-threaded;
 * for files, tests and small tensors. */
void ry_tensor_copy(const ry_tensor *dst, const ry_tensor *src);

/* Steps `index` through all positions of shape in row-major order, starting from zeros; false after
 * the last. */
bool ry_index_next(int rank, const int64_t *dim, int64_t *index);
int64_t ry_index_offset(const ry_tensor *tensor, const int64_t *index);

#endif
