/* SPDX-License-Identifier: Apache-2.0 */
/** @file tensor.h
 *  @brief Element types, and a view of the caller's memory as a tensor. */
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

/** Bytes of one element; 0 for RYND_DTYPE_NONE. */
RYND_API size_t rynd_dtype_size(rynd_dtype dtype);

/** "f32", "bool", ...; "none". Never NULL. */
RYND_API const char *rynd_dtype_name(rynd_dtype dtype);

/** A view of memory: it owns nothing, and may be copied. `stride[i]` is the distance, in elements,
 * between neighbours along dimension i (row-major without gaps: stride[rank-1] = 1, stride[i] =
 * stride[i+1]*dim[i+1]); it may have any value that stays inside the memory. A scalar has rank 0. A
 * dimension may be 0: the tensor is empty and `data` may be NULL.
 *
 * Each function that takes one refuses, with RYND_ERROR_ARGUMENT, what cannot be a tensor: an
 * unknown dtype, a rank outside 0 to RYND_MAX_RANK, a dimension below 0, 2^63 bytes and more,
 * strides that leave the address space. The elements of one that is written may not share memory:
 * each stride reaches over all elements along the dimensions with smaller ones. */
typedef struct rynd_tensor {
    void *data;
    rynd_dtype dtype;
    int rank;
    int64_t dim[RYND_MAX_RANK];
    int64_t stride[RYND_MAX_RANK];
} rynd_tensor;

/** A row-major view of `data` (may be NULL: a description) without gaps. `dim` has `rank`
 * dimensions, and may be NULL for a scalar. What cannot be a tensor becomes one of dtype NONE. */
RYND_API rynd_tensor rynd_tensor_of(void *data, rynd_dtype dtype, int rank, const int64_t *dim);

/** The product of the dimensions: 1 for a scalar; -1 for what cannot be a tensor, and for NULL. */
RYND_API int64_t rynd_tensor_elements(const rynd_tensor *tensor);

#ifdef __cplusplus
}
#endif
#endif
