/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language's functions in integers (and bool, as u8), as loops. */
#include "kernels/cpu/expr/expr_loops.h"

/* The quotient of integers whose magnitudes and quotient a float type holds, towards 0: the exact
 * quotient is farther from a whole number above it than the float type rounds. Vectors have no
 * division of integers. b is neither 0 nor -1. */
#define QUOTIENT(C, a, b)                              \
    (sizeof(C) < 4    ? (C)((float)(a) / (float)(b))   \
     : sizeof(C) == 4 ? (C)((double)(a) / (double)(b)) \
                      : (C)((a) / (b)))

/* W is an unsigned type at least as wide as C that is not promoted: its arithmetic wraps, and the
 * cast back cuts it to C's width. Unsigned types make the tests for negative numbers constant. */
#define INT_OPS(TYPE, C, W, LOW)                                                     \
    RY_EXPR_BINARY(C, TYPE, add, C, (C)((W)a + (W)b))                                \
    RY_EXPR_BINARY(C, TYPE, sub, C, (C)((W)a - (W)b))                                \
    RY_EXPR_BINARY(C, TYPE, mul, C, (C)((W)a * (W)b))                                \
    RY_EXPR_UNARY(C, TYPE, neg, C, (C)((W)0 - (W)a))                                 \
    static inline int TYPE##_negative(C a)                                           \
    {                                                                                \
        return LOW != 0 && a < (C)1 && a != 0;                                       \
    }                                                                                \
    static inline C TYPE##_op_div(C a, C b)                                          \
    {                                                                                \
        const int back = LOW != 0 && b == (C)-1, none = b == 0;                      \
        const C d = back | none ? (C)1 : b, q = QUOTIENT(C, a, d);                   \
        return none ? (C)0 : back ? TYPE##_op_neg(a) : q;                            \
    }                                                                                \
    RY_EXPR_BINARY(C, TYPE, fmod, C,                                                 \
                   b == 0 ? (C)0 : (C)((W)a - (W)((W)TYPE##_op_div(a, b) * (W)b)))   \
    static inline C TYPE##_op_mod(C a, C b)                                          \
    {                                                                                \
        C r = TYPE##_op_fmod(a, b);                                                  \
        return r != 0 && TYPE##_negative(r) != TYPE##_negative(b) ? (C)(r + b) : r;  \
    }                                                                                \
    static inline C TYPE##_op_pow(C a, C b)                                          \
    {                                                                                \
        W result = 1, square = (W)a;                                                 \
        if (TYPE##_negative(b)) {                                                    \
            return a == 1 ? (C)1 : a == (C)-1 ? (C)(b & 1 ? -1 : 1) : (C)0;          \
        }                                                                            \
        for (W left = (W)b; left; left >>= 1) {                                      \
            result *= left & 1 ? square : 1;                                         \
            square *= square;                                                        \
        }                                                                            \
        return (C)result;                                                            \
    }                                                                                \
    RY_EXPR_BINARY(C, TYPE, min, C, a < b ? a : b)                                   \
    RY_EXPR_BINARY(C, TYPE, max, C, a > b ? a : b)                                   \
    RY_EXPR_UNARY(C, TYPE, abs, C, TYPE##_negative(a) ? TYPE##_op_neg(a) : a)        \
    RY_EXPR_UNARY(C, TYPE, sign, C, (C)(a == 0 ? 0 : TYPE##_negative(a) ? -1 : 1))   \
    RY_EXPR_BINARY(int, TYPE, eq, C, a == b)                                         \
    RY_EXPR_BINARY(int, TYPE, ne, C, a != b)                                         \
    RY_EXPR_BINARY(int, TYPE, lt, C, a < b)                                          \
    RY_EXPR_BINARY(int, TYPE, le, C, a <= b)                                         \
    RY_EXPR_BINARY(int, TYPE, gt, C, a > b)                                          \
    RY_EXPR_BINARY(int, TYPE, ge, C, a >= b)                                         \
    RY_EXPR_UNARY(int, TYPE, isnan, C, ((void)a, 0))                                 \
    RY_EXPR_UNARY(int, TYPE, isinf, C, ((void)a, 0))                                 \
    RY_EXPR_BINARY(C, TYPE, bit_and, C, (C)((W)a & (W)b))                            \
    RY_EXPR_BINARY(C, TYPE, bit_or, C, (C)((W)a | (W)b))                             \
    RY_EXPR_BINARY(C, TYPE, bit_xor, C, (C)((W)a ^ (W)b))                            \
    RY_EXPR_UNARY(C, TYPE, bit_not, C, (C) ~(W)a)                                    \
    static inline int TYPE##_shifts(C b)                                             \
    {                                                                                \
        return !TYPE##_negative(b) && (W)b < 8 * sizeof(C);                          \
    }                                                                                \
    RY_EXPR_BINARY(C, TYPE, shift_left, C, TYPE##_shifts(b) ? (C)((W)a << b) : (C)0) \
    RY_EXPR_BINARY(C, TYPE, shift_right, C,                                          \
                   TYPE##_shifts(b) ? (C)(a >> b) : (C)(TYPE##_negative(a) ? -1 : 0))

/* clang-format off */
#define RY_LOOP_FLOAT(name, type)
#define RY_LOOP_INT(name, type, wide, low, high, beyond) INT_OPS(name, type, wide, low)
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT

static inline uint8_t u8_op_and(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) & (b != 0)); }
static inline uint8_t u8_op_or(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) | (b != 0)); }
static inline uint8_t u8_op_xor(uint8_t a, uint8_t b) { return (uint8_t)((a != 0) ^ (b != 0)); }
static inline uint8_t u8_op_not(uint8_t a) { return a == 0; }
/* clang-format on */

#define HAS_BITS
#define OP(name) RY_ISA_JOIN(TYPE, RY_ISA_JOIN(_op_, name))

#define TYPE   i8
#define C_TYPE int8_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   i16
#define C_TYPE int16_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   i32
#define C_TYPE int32_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   i64
#define C_TYPE int64_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   u16
#define C_TYPE uint16_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   u32
#define C_TYPE uint32_t
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   u64
#define C_TYPE uint64_t
#include "kernels/cpu/expr/expr_loops.inc"

#define HAS_LOGIC
#define TYPE   u8
#define C_TYPE uint8_t
#include "kernels/cpu/expr/expr_loops.inc"
