/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's loops that dequantise and quantise bytes in one pass. */
#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/simd/vector_math.h"

/* One instruction where the compiler's vectors have one: the same bits as f32_round. */
#if defined(__SSE4_1__) || defined(__aarch64__)
#define ROUND(v) __builtin_rintf(v)
#else
#define ROUND(v) f32_round(v)
#endif

/* NaN becomes 0, as the lower bound of u8 makes it. */
#define NUMBER(v)     ((v) == (v) ? (v) : 0)
#define ANY_NUMBER(v) (v)

#define BYTES(name, TYPE, LOW, HIGH, NOT_NAN)                                                  \
    static void dequantise_##name(size_t n, void *restrict y, const void *a, const void *zero, \
                                  const void *scale)                                           \
    {                                                                                          \
        float *restrict r = y;                                                                 \
        const TYPE *p = a;                                                                     \
        const uint32_t z = *(const uint32_t *)zero;                                            \
        const float s = *(const float *)scale;                                                 \
        for (size_t i = 0; i < n; i++) {                                                       \
            r[i] = (float)(int32_t)((uint32_t)(int32_t)p[i] - z) * s;                          \
        }                                                                                      \
    }                                                                                          \
    static void quantise_##name(size_t n, void *restrict y, const void *a, const void *zero,   \
                                const void *scale)                                             \
    {                                                                                          \
        TYPE *restrict r = y;                                                                  \
        const float *p = a;                                                                    \
        const float z = *(const float *)zero, s = *(const float *)scale;                       \
        for (size_t i = 0; i < n; i++) {                                                       \
            float v = ROUND(p[i] / s) + z; /* inexact only beyond the bounds */                \
            v = NOT_NAN(v);                                                                    \
            v = v > (float)(LOW) ? v : (float)(LOW);                                           \
            v = v < (float)(HIGH) ? v : (float)(HIGH);                                         \
            r[i] = (TYPE)(int32_t)v;                                                           \
        }                                                                                      \
    }

BYTES(u8, uint8_t, 0, UINT8_MAX, ANY_NUMBER)
BYTES(i8, int8_t, INT8_MIN, INT8_MAX, NUMBER)

const ry_expr_loop RY_ISA_SYMBOL(expr_dequantise)[RY_LOOP_TYPES] = {
    [RY_LOOP_u8] = dequantise_u8, [RY_LOOP_i8] = dequantise_i8};
const ry_expr_loop RY_ISA_SYMBOL(expr_quantise)[RY_LOOP_TYPES] = {
    [RY_LOOP_u8] = quantise_u8, [RY_LOOP_i8] = quantise_i8};
