/* SPDX-License-Identifier: Apache-2.0 */
/* The evaluator's inner loops: tables of functions over contiguous elements, one set for each
 * instruction set.
 *
 * y never overlaps an operand; n may be 0. Types are those of expr_types.inc; a bool is a byte, 0
 * or 1. */
#ifndef RY_KERNELS_CPU_EXPR_EXPR_LOOPS_H
#define RY_KERNELS_CPU_EXPR_EXPR_LOOPS_H

#include "kernels/cpu/expr/expr_plan.h"
#include "kernels/cpu/simd/isa.h"

typedef void (*ry_expr_loop)(size_t n, void *restrict y, const void *a, const void *b,
                             const void *c);

typedef struct ry_expr_loops {
    ry_expr_loop vector;
    ry_expr_loop scalar; /* with two operands, the second is one value, b[0] */
} ry_expr_loops;

/* y[i] = (type)a[i] */
typedef void (*ry_expr_convert)(size_t n, void *restrict y, const void *a);

typedef struct ry_expr_converts {
    ry_expr_convert cast[RY_LOOP_TYPES];     /* expr.h's rules, to each type */
    ry_expr_convert saturate[RY_LOOP_TYPES]; /* NULL to floats */
    ry_expr_convert truth;                   /* a != 0, as a byte */
} ry_expr_converts;

/* f16 and bf16 in memory, f32 in the loops; round: to the 16-bit type and back. */
typedef struct ry_expr_half_converts {
    ry_expr_convert load, store, round;
} ry_expr_half_converts;

/* Reductions of one type. An accumulator is 8 bytes: f64, int64_t or uint64_t. */
typedef struct ry_expr_reducer {
    void (*chunk)(size_t n, const void *v, void *accumulator); /* into one accumulator */
    /* block[i] = block[i] op v[i], in the type itself; NULL: flush each time */
    void (*fold)(size_t n, void *restrict block, const void *v);
    /* accumulators[i] = accumulators[i] op v[i] */
    void (*flush)(size_t n, void *restrict accumulators, const void *v);
    void (*merge)(size_t n, void *restrict accumulators, const void *others); /* adds accumulators
                                                                               */
} ry_expr_reducer;

typedef struct ry_expr_reducers {
    ry_expr_reducer by[RY_REDUCERS];
    /* the identity; either may be NULL */
    void (*start)(size_t n, int reducer, void *accumulators, void *block);
    /* divisor -1: none; else a mean of so many */
    void (*finish)(size_t n, void *restrict y, const void *accumulators, int64_t divisor);
} ry_expr_reducers;

/* An operation of the language on elements of one type: TYPE_op_NAME(a) or (a, b). */
#define RY_EXPR_UNARY(result, TYPE, name, C, value) \
    static inline result TYPE##_op_##name(C a)      \
    {                                               \
        return value;                               \
    }
#define RY_EXPR_BINARY(result, TYPE, name, C, value) \
    static inline result TYPE##_op_##name(C a, C b)  \
    {                                                \
        return value;                                \
    }

#define RY_LOOP_FLOAT(name, type)                                         \
    extern const ry_expr_loops RY_ISA_SYMBOL(expr_##name)[RY_EXPR_CODES]; \
    extern const ry_expr_converts RY_ISA_SYMBOL(convert_##name);          \
    extern const ry_expr_reducers RY_ISA_SYMBOL(reduce_##name);
#define RY_LOOP_INT(name, type, wide, low, high, beyond) RY_LOOP_FLOAT(name, type)
#include "kernels/cpu/expr/expr_types.inc"
#undef RY_LOOP_FLOAT
#undef RY_LOOP_INT
/* NULL but for RY_EXPR_NEAR */
extern const ry_expr_loop RY_ISA_SYMBOL(expr_f32_near)[RY_EXPR_CODES];
/* y[i] = a[i] compared with b[0] ? c[i] : 0; NULL but for RY_EXPR_KEEP */
extern const ry_expr_loop RY_ISA_SYMBOL(expr_f32_keep)[RY_EXPR_CODES];
/* (a - b[0]) * c[0] in f32 of bytes, and round(a / c[0]) + b[0] as bytes; NULL for other types */
extern const ry_expr_loop RY_ISA_SYMBOL(expr_dequantise)[RY_LOOP_TYPES],
    RY_ISA_SYMBOL(expr_quantise)[RY_LOOP_TYPES];
extern const ry_expr_half_converts RY_ISA_SYMBOL(convert_f16), RY_ISA_SYMBOL(convert_bf16);

#endif
