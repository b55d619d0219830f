/* SPDX-License-Identifier: Apache-2.0 */
/* Conversions between all types, as loops: casts, saturation, and the 16-bit floats. */
#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/simd/half.h"
#include "kernels/cpu/simd/vector_math.h"

#define FROM_FLOAT
#define FROM          f32
#define C_FROM        float
#define ROUND_FROM(v) f32_round(v)
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM          f64
#define C_FROM        double
#define ROUND_FROM(v) f64_round(v)
#include "kernels/cpu/expr/expr_convert.inc"
#undef FROM_FLOAT

#define FROM   i8
#define C_FROM int8_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   i16
#define C_FROM int16_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   i32
#define C_FROM int32_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   i64
#define C_FROM int64_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   u8
#define C_FROM uint8_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   u16
#define C_FROM uint16_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   u32
#define C_FROM uint32_t
#include "kernels/cpu/expr/expr_convert.inc"

#define FROM   u64
#define C_FROM uint64_t
#include "kernels/cpu/expr/expr_convert.inc"

#define HALF_LOOPS(name)                                                                    \
    static void name##_load(size_t n, void *restrict y, const void *a)                      \
    {                                                                                       \
        ry_##name##_load(n, y, a);                                                          \
    }                                                                                       \
    static void name##_store(size_t n, void *restrict y, const void *a)                     \
    {                                                                                       \
        ry_##name##_store(n, y, a);                                                         \
    }                                                                                       \
    static void name##_round(size_t n, void *restrict y, const void *a)                     \
    {                                                                                       \
        float *restrict r = y;                                                              \
        const float *p = a;                                                                 \
        for (size_t i = 0; i < n; i++) {                                                    \
            r[i] = ry_##name##_to_f32_inline(ry_f32_to_##name##_inline(p[i]));              \
        }                                                                                   \
    }                                                                                       \
    const ry_expr_half_converts RY_ISA_SYMBOL(convert_##name) = {name##_load, name##_store, \
                                                                 name##_round};

/* clang-format off */
HALF_LOOPS(f16)
HALF_LOOPS(bf16)
/* clang-format on */
