/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: their sizes, names, kinds, and conversion of single elements and rows. */
#ifndef RY_TENSOR_DTYPE_H
#define RY_TENSOR_DTYPE_H

#include <rynd/tensor.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The same values as the public enum: RY_f32 == RYND_DTYPE_F32. */
typedef enum ry_dtype {
    RY_NONE = 0,
#define RY_DTYPE(name, bytes, kind, onnx) RY_##name,
#include "tensor/dtypes.inc"
#undef RY_DTYPE
    RY_DTYPES
} ry_dtype;

typedef enum ry_dtype_kind {
    RY_KIND_NONE,
    RY_KIND_FLOAT,
    RY_KIND_SIGNED,
    RY_KIND_UNSIGNED,
    RY_KIND_BOOL
} ry_dtype_kind;

size_t ry_dtype_size(ry_dtype dtype);
const char *ry_dtype_name(ry_dtype dtype);
ry_dtype_kind ry_dtype_get_kind(ry_dtype dtype);
ry_dtype ry_dtype_parse(const char *name, size_t length); /* RY_NONE when unknown */
ry_dtype ry_dtype_from_onnx(int64_t data_type);           /* RY_NONE when unsupported */
int ry_dtype_to_onnx(ry_dtype dtype);
static inline bool ry_dtype_is_float(ry_dtype dtype)
{
    return ry_dtype_get_kind(dtype) == RY_KIND_FLOAT;
}

/* IEEE 754 binary16 and bfloat16, round to nearest even; NaN stays NaN. */
float ry_f16_to_f32(uint16_t bits);
uint16_t ry_f32_to_f16(float value);
float ry_bf16_to_f32(uint16_t bits);
uint16_t ry_f32_to_bf16(float value);

/* Element `index` of a row, as double (exact for all but i64 and u64 beyond 2^53) or as int64
 * (floats truncate; u64 wraps). */
double ry_get_f64(ry_dtype dtype, const void *data, int64_t index);
int64_t ry_get_i64(ry_dtype dtype, const void *data, int64_t index);
/* Stores with the type's rounding; integers truncate toward zero and wrap; bool stores value != 0.
 */
void ry_set_f64(ry_dtype dtype, void *data, int64_t index, double value);
void ry_set_i64(ry_dtype dtype, void *data, int64_t index, int64_t value);

#endif
