/* SPDX-License-Identifier: Apache-2.0 */
/* In-place reductions of rows, one function for each dtype and reduction. */
#include "kernels/move/element_reduce.h"

#include <string.h>

/* The type that a dtype computes in, and how it is read and written. */
#define NATIVE(name, type)                                \
    typedef type value_##name;                            \
    static inline type load_##name(const char *at)        \
    {                                                     \
        type value;                                       \
        memcpy(&value, at, sizeof value);                 \
        return value;                                     \
    }                                                     \
    static inline void store_##name(char *at, type value) \
    {                                                     \
        memcpy(at, &value, sizeof value);                 \
    }
NATIVE(f32, float)
NATIVE(f64, double)
NATIVE(i8, int8_t)
NATIVE(i16, int16_t)
NATIVE(i32, int32_t)
NATIVE(i64, int64_t)
NATIVE(u8, uint8_t)
NATIVE(u16, uint16_t)
NATIVE(u32, uint32_t)
NATIVE(u64, uint64_t)
NATIVE(bool, uint8_t)

#define HALF(name)                                         \
    typedef float value_##name;                            \
    static inline float load_##name(const char *at)        \
    {                                                      \
        uint16_t bits;                                     \
        memcpy(&bits, at, sizeof bits);                    \
        return ry_##name##_to_f32(bits);                   \
    }                                                      \
    static inline void store_##name(char *at, float value) \
    {                                                      \
        uint16_t bits = ry_f32_to_##name(value);           \
        memcpy(at, &bits, sizeof bits);                    \
    }
HALF(f16)
HALF(bf16)

#define ADD_FLOAT(r, a, b) (r = (a) + (b))
#define MUL_FLOAT(r, a, b) (r = (a) * (b))
#define MAX_FLOAT(r, a, b) (r = (a) != (a) || (a) > (b) ? (a) : (b))
#define MIN_FLOAT(r, a, b) (r = (a) != (a) || (a) < (b) ? (a) : (b))

#define ADD_SIGNED(r, a, b) ((void)__builtin_add_overflow(a, b, &r))
#define MUL_SIGNED(r, a, b) ((void)__builtin_mul_overflow(a, b, &r))
#define MAX_SIGNED(r, a, b) (r = (a) > (b) ? (a) : (b))
#define MIN_SIGNED(r, a, b) (r = (a) < (b) ? (a) : (b))

#define ADD_UNSIGNED ADD_SIGNED
#define MUL_UNSIGNED MUL_SIGNED
#define MAX_UNSIGNED MAX_SIGNED
#define MIN_UNSIGNED MIN_SIGNED

#define ADD_BOOL(r, a, b) (r = (uint8_t)((a) | (b)))
#define MUL_BOOL(r, a, b) (r = (uint8_t)((a) & (b)))
#define MAX_BOOL          ADD_BOOL
#define MIN_BOOL          MUL_BOOL

/* Rows without gaps have a loop of their own, which compilers turn into vectors. */
#define REDUCE_ROW(function, size, value, load, store, step)                                       \
    static void function(char *dst, int64_t dst_stride, const int64_t *positions, const char *src, \
                         int64_t src_stride, int64_t count)                                        \
    {                                                                                              \
        const bool dense = !positions && dst_stride == (size) && src_stride == (size);             \
        for (int64_t i = 0; dense && i < count; i++) {                                             \
            value a = load(dst + i * (size)), b = load(src + i * (size)), r;                       \
            step(r, a, b);                                                                         \
            store(dst + i * (size), r);                                                            \
        }                                                                                          \
        for (int64_t i = 0; !dense && i < count; i++, src += src_stride) {                         \
            char *to = dst + (positions ? positions[i] : i * dst_stride);                          \
            value a = load(to), b = load(src), r;                                                  \
            step(r, a, b);                                                                         \
            store(to, r);                                                                          \
        }                                                                                          \
    }

#define RY_DTYPE(name, bytes, kind, onnx)                                              \
    REDUCE_ROW(add_##name, bytes, value_##name, load_##name, store_##name, ADD_##kind) \
    REDUCE_ROW(mul_##name, bytes, value_##name, load_##name, store_##name, MUL_##kind) \
    REDUCE_ROW(max_##name, bytes, value_##name, load_##name, store_##name, MAX_##kind) \
    REDUCE_ROW(min_##name, bytes, value_##name, load_##name, store_##name, MIN_##kind)
#include "tensor/dtypes.inc"
#undef RY_DTYPE

static const ry_reduce_row rows[RY_DTYPES][RY_scatter_reduction_count] = {
#define RY_DTYPE(name, bytes, kind, onnx)                   \
    [RY_##name] = {[RY_scatter_reduction_add] = add_##name, \
                   [RY_scatter_reduction_mul] = mul_##name, \
                   [RY_scatter_reduction_max] = max_##name, \
                   [RY_scatter_reduction_min] = min_##name},
#include "tensor/dtypes.inc"
#undef RY_DTYPE
};

ry_reduce_row ry_reduce_row_of(ry_dtype dtype, ry_scatter_reduction reduction)
{
    return rows[dtype][reduction];
}
