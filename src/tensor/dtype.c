/* SPDX-License-Identifier: Apache-2.0 */
/* Element types: tables and single-element conversion. */
#include "tensor/dtype.h"

#include "base/float_bits.h"
#include <math.h>
#include <string.h>

typedef struct dtype_row {
    const char *name;
    size_t bytes;
    ry_dtype_kind kind;
    int onnx;
} dtype_row;

static const dtype_row rows[RY_DTYPES] = {
    [RY_NONE] = {"none", 0, RY_KIND_NONE, 0},
#define RY_DTYPE(name, bytes, kind, onnx) [RY_##name] = {#name, bytes, RY_KIND_##kind, onnx},
#include "tensor/dtypes.inc"
#undef RY_DTYPE
};

size_t ry_dtype_size(ry_dtype dtype)
{
    return rows[dtype].bytes;
}

const char *ry_dtype_name(ry_dtype dtype)
{
    return rows[dtype].name;
}

ry_dtype_kind ry_dtype_get_kind(ry_dtype dtype)
{
    return rows[dtype].kind;
}

ry_dtype ry_dtype_parse(const char *name, size_t length)
{
    for (int i = 1; i < RY_DTYPES; i++) {
        if (strlen(rows[i].name) == length && memcmp(rows[i].name, name, length) == 0) {
            return (ry_dtype)i;
        }
    }
    return RY_NONE;
}

ry_dtype ry_dtype_from_onnx(int64_t data_type)
{
    for (int i = 1; i < RY_DTYPES; i++) {
        if (rows[i].onnx == data_type) {
            return (ry_dtype)i;
        }
    }
    return RY_NONE;
}

int ry_dtype_to_onnx(ry_dtype dtype)
{
    return rows[dtype].onnx;
}

float ry_f16_to_f32(uint16_t bits)
{
    uint32_t sign = (uint32_t)(bits & 0x8000u) << 16;
    uint32_t exponent = (bits >> 10) & 31u;
    uint32_t fraction = bits & 1023u;
    if (exponent == 31) {
        return ry_f32_of_bits(sign | 0x7f800000u | fraction << 13);
    }
    if (exponent == 0) { /* zero and subnormals: fraction * 2^-24 */
        float magnitude = (float)fraction * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return ry_f32_of_bits(sign | (exponent + 112) << 23 | fraction << 13);
}

uint16_t ry_f32_to_f16(float value)
{
    uint32_t bits = ry_f32_bits(value);
    uint32_t sign = bits >> 16 & 0x8000u;
    uint32_t magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return (uint16_t)(sign | 0x7e00u);
    }
    if (magnitude >= 0x477ff000u) { /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00u);
    }
    /* below 2^-14: adding 0.5 leaves the rounded multiple of 2^-24 in the low bits */
    if (magnitude < 0x38800000u) {
        uint32_t rounded = ry_f32_bits(ry_f32_of_bits(magnitude) + 0.5f) - ry_f32_bits(0.5f);
        return (uint16_t)(sign | rounded);
    }
    uint32_t odd = magnitude >> 13 & 1u;
    return (uint16_t)(sign | (magnitude - 0x38000000u + 0xfffu + odd) >> 13);
}

float ry_bf16_to_f32(uint16_t bits)
{
    return ry_f32_of_bits((uint32_t)bits << 16);
}

uint16_t ry_f32_to_bf16(float value)
{
    uint32_t bits = ry_f32_bits(value);
    if ((bits & 0x7fffffffu) > 0x7f800000u) {
        return (uint16_t)(bits >> 16 | 0x40u);
    }
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
}

/* Element `index` of a row that may begin anywhere: numbers in a file are stored as its other
 * fields let them. */
#define ELEMENT(type) ((const char *)data + index * (int64_t)sizeof(type))
#define LOADER(type)                               \
    static inline type load_##type(const char *at) \
    {                                              \
        type value;                                \
        memcpy(&value, at, sizeof value);          \
        return value;                              \
    }
LOADER(float)
LOADER(double)
LOADER(int8_t)
LOADER(int16_t)
LOADER(int32_t)
LOADER(int64_t)
LOADER(uint8_t)
LOADER(uint16_t)
LOADER(uint32_t)
LOADER(uint64_t)
#define LOAD(type) load_##type(ELEMENT(type))
#define STORE(type, number)                                                               \
    do {                                                                                  \
        const type stored_ = (number);                                                    \
        memcpy((char *)data + index * (int64_t)sizeof stored_, &stored_, sizeof stored_); \
    } while (0)

double ry_get_f64(ry_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case RY_f32: return LOAD(float);
    case RY_f16: return ry_f16_to_f32(LOAD(uint16_t));
    case RY_bf16: return ry_bf16_to_f32(LOAD(uint16_t));
    case RY_f64: return LOAD(double);
    case RY_i8: return LOAD(int8_t);
    case RY_i16: return LOAD(int16_t);
    case RY_i32: return LOAD(int32_t);
    case RY_i64: return (double)LOAD(int64_t);
    case RY_u8: return LOAD(uint8_t);
    case RY_u16: return LOAD(uint16_t);
    case RY_u32: return LOAD(uint32_t);
    case RY_u64: return (double)LOAD(uint64_t);
    case RY_bool: return LOAD(uint8_t) != 0;
    default: return 0;
    }
}

/* C leaves conversion of an out-of-range double undefined; here it saturates, and NaN gives 0. */
static int64_t double_to_i64(double value)
{
    if (isnan(value)) {
        return 0;
    }
    if (value >= 0x1p63) {
        return INT64_MAX;
    }
    return value <= -0x1p63 ? INT64_MIN : (int64_t)value;
}

static uint64_t double_to_u64(double value)
{
    if (value >= 0x1p64) {
        return UINT64_MAX;
    }
    /* NaN takes the second way */
    return value >= 0x1p63 ? (uint64_t)value : (uint64_t)double_to_i64(value);
}

int64_t ry_get_i64(ry_dtype dtype, const void *data, int64_t index)
{
    switch (dtype) {
    case RY_i8: return LOAD(int8_t);
    case RY_i16: return LOAD(int16_t);
    case RY_i32: return LOAD(int32_t);
    case RY_i64: return LOAD(int64_t);
    case RY_u8: return LOAD(uint8_t);
    case RY_u16: return LOAD(uint16_t);
    case RY_u32: return LOAD(uint32_t);
    case RY_u64: return (int64_t)LOAD(uint64_t);
    case RY_bool: return LOAD(uint8_t) != 0;
    default: return double_to_i64(ry_get_f64(dtype, data, index));
    }
}

/* To float so that rounding it once more, to 11 bits or fewer, gives what rounding the double
 * would: an inexact result gets an odd last bit, which is never half way (Boldo and Melquiond,
 * Emulation of FMA and correctly rounded sums, 2008). */
static float round_to_odd(double value)
{
    float nearest = (float)value;
    if (isnan(value) || isinf(nearest) || (double)nearest == value) {
        return nearest;
    }
    uint32_t bits = ry_f32_bits(nearest);
    if (fabs((double)nearest) > fabs(value)) {
        bits--; /* toward zero */
    }
    return ry_f32_of_bits(bits | 1u);
}

void ry_set_f64(ry_dtype dtype, void *data, int64_t index, double value)
{
    switch (dtype) {
    case RY_f32: STORE(float, (float)value); break;
    case RY_f16: STORE(uint16_t, ry_f32_to_f16(round_to_odd(value))); break;
    case RY_bf16: STORE(uint16_t, ry_f32_to_bf16(round_to_odd(value))); break;
    case RY_f64: STORE(double, value); break;
    case RY_bool: STORE(uint8_t, value != 0); break;
    case RY_u64: STORE(uint64_t, double_to_u64(value)); break;
    default: ry_set_i64(dtype, data, index, double_to_i64(value)); break;
    }
}

void ry_set_i64(ry_dtype dtype, void *data, int64_t index, int64_t value)
{
    switch (dtype) {
    case RY_f32: STORE(float, (float)value); break;
    case RY_f16: STORE(uint16_t, ry_f32_to_f16(round_to_odd((double)value))); break;
    case RY_bf16: STORE(uint16_t, ry_f32_to_bf16(round_to_odd((double)value))); break;
    case RY_f64: STORE(double, (double)value); break;
    case RY_i8:
    case RY_u8: STORE(uint8_t, (uint8_t)value); break;
    case RY_i16:
    case RY_u16: STORE(uint16_t, (uint16_t)value); break;
    case RY_i32:
    case RY_u32: STORE(uint32_t, (uint32_t)value); break;
    case RY_i64:
    case RY_u64: STORE(uint64_t, (uint64_t)value); break;
    case RY_bool: STORE(uint8_t, value != 0); break;
    default: break;
    }
}
