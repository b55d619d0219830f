/* SPDX-License-Identifier: Apache-2.0 */
/** @file tensor.h
 *  @brief Element types, and views of the caller's memory. */
#ifndef RYND_TENSOR_H
#define RYND_TENSOR_H

#include <rynd/status.h>

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** The largest number of dimensions of a tensor. */
#define RYND_MAX_RANK 16

/** Element types. The values are stable. */
typedef enum rynd_dtype {
    RYND_DTYPE_NONE = 0, /**< absent */
    RYND_DTYPE_F32,
    RYND_DTYPE_F16,
    RYND_DTYPE_BF16,
    RYND_DTYPE_F64,
    RYND_DTYPE_I8,
    RYND_DTYPE_I16,
    RYND_DTYPE_I32,
    RYND_DTYPE_I64,
    RYND_DTYPE_U8,
    RYND_DTYPE_U16,
    RYND_DTYPE_U32,
    RYND_DTYPE_U64,
    RYND_DTYPE_BOOL, /**< one byte, 0 or 1 */
} rynd_dtype;

/** Bytes per element; 0 for RYND_DTYPE_NONE. Any thread. */
RYND_API size_t rynd_dtype_size(rynd_dtype dtype);

/** "f32", "bool", ...; "none". Never NULL; any thread. */
RYND_API const char *rynd_dtype_name(rynd_dtype dtype);

/** A view of memory. It owns nothing and may be copied.
 *
 * `stride[i]` is the distance in elements between neighbours along dimension i. Row-major without
 * gaps: stride[rank-1] = 1, stride[i] = stride[i+1] * dim[i+1]. Strides may be 0 or negative, as
 * long as every element lies in the memory. A scalar has rank 0. If a dimension is 0, the tensor is
 * empty and `data` may be NULL.
 *
 * Functions fail with RYND_ERROR_ARGUMENT for an unknown dtype, a rank outside 0 to RYND_MAX_RANK,
 * a negative dimension, 2^63 bytes or more, and strides that leave the address space. Elements of a
 * tensor that is written may not share memory: each stride must step over all elements along the
 * dimensions with smaller strides. */
typedef struct rynd_tensor {
    void *data;
    rynd_dtype dtype;
    int rank;
    int64_t dim[RYND_MAX_RANK];
    int64_t stride[RYND_MAX_RANK];
} rynd_tensor;

/** A row-major view of `data` without gaps. data NULL: a description only. `dim` has `rank`
 * elements, and may be NULL for a scalar. Impossible arguments give a tensor of dtype NONE. */
RYND_API rynd_tensor rynd_tensor_of(void *data, rynd_dtype dtype, int rank, const int64_t *dim);

/** The product of the dimensions: 1 for a scalar; -1 for an impossible tensor and for NULL. */
RYND_API int64_t rynd_tensor_elements(const rynd_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
