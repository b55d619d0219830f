/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language's functions in f32 and f64, as loops. */
#include "kernels/cpu/expr/expr_loops.h"
#include "kernels/cpu/simd/vector_math.h"

/* What f32 and f64 have in common: C is the type, S the suffix of libm's functions. min and max
 * test b for NaN, which is the single value of a scalar loop: there the test leaves the loop. */
#define COMMON_OPS(TYPE, C, S)                                              \
    RY_EXPR_BINARY(C, TYPE, add, C, a + b)                                  \
    RY_EXPR_BINARY(C, TYPE, sub, C, a - b)                                  \
    RY_EXPR_BINARY(C, TYPE, mul, C, (a * b))                                \
    RY_EXPR_BINARY(C, TYPE, div, C, a / b)                                  \
    RY_EXPR_BINARY(C, TYPE, min, C, ((b < a) | (b != b)) ? b : a)           \
    RY_EXPR_BINARY(C, TYPE, max, C, ((a < b) | (b != b)) ? b : a)           \
    RY_EXPR_BINARY(C, TYPE, fmod, C, fmod##S(a, b))                         \
    static inline C TYPE##_op_mod(C a, C b)                                 \
    {                                                                       \
        C r = fmod##S(a, b);                                                \
        return r == 0 ? copysign##S(r, b) : (r < 0) != (b < 0) ? r + b : r; \
    }                                                                       \
    RY_EXPR_UNARY(C, TYPE, neg, C, -a)                                      \
    RY_EXPR_UNARY(C, TYPE, abs, C, fabs##S(a))                              \
    RY_EXPR_UNARY(C, TYPE, sign, C, a > 0 ? (C)1 : a < 0 ? (C)-1 : a)       \
    RY_EXPR_BINARY(int, TYPE, eq, C, a == b)                                \
    RY_EXPR_BINARY(int, TYPE, ne, C, a != b)                                \
    RY_EXPR_BINARY(int, TYPE, lt, C, a < b)                                 \
    RY_EXPR_BINARY(int, TYPE, le, C, a <= b)                                \
    RY_EXPR_BINARY(int, TYPE, gt, C, a > b)                                 \
    RY_EXPR_BINARY(int, TYPE, ge, C, a >= b)                                \
    RY_EXPR_UNARY(int, TYPE, isnan, C, a != a)                              \
    RY_EXPR_UNARY(int, TYPE, isinf, C, fabs##S(a) == (C)INFINITY)           \
    RY_EXPR_UNARY(C, TYPE, floor, C, floor##S(a))                           \
    RY_EXPR_UNARY(C, TYPE, ceil, C, ceil##S(a))                             \
    RY_EXPR_UNARY(C, TYPE, sqrt, C, sqrt##S(a))                             \
    RY_EXPR_UNARY(C, TYPE, reciprocal, C, 1 / a)

/* clang-format off */
COMMON_OPS(f32, float, f)
COMMON_OPS(f64, double, )

#define F32_OP(name) static inline float f32_op_##name(float a) { return f32_##name(a); }
#define F64_OP(name) static inline double f64_op_##name(double a) { return name(a); }
#define OPS(X) X(log) X(log1p) X(expm1) X(sin) X(cos) X(tan) X(asin) \
               X(acos) X(atan) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) X(erf)
OPS(F32_OP)
F32_OP(exp)
F32_OP(sigmoid)
F32_OP(silu)
F32_OP(softplus)
F32_OP(mish)
F32_OP(gelu)
F32_OP(gelu_tanh)
F32_OP(round)
OPS(F64_OP)
/* clang-format on */

static inline double f64_op_exp(double a)
{
    return f64_exp(a);
}

static inline float f32_op_pow(float a, float b)
{
    return f32_pow(a, b);
}

static inline double f64_op_pow(double a, double b)
{
    return pow(a, b);
}

static inline double f64_op_round(double a)
{
    return f64_round(a);
}

static inline double f64_op_sigmoid(double a)
{
    double e = f64_exp(-fabs(a));
    return (a < 0 ? e : 1) / (1 + e);
}

static inline double f64_op_silu(double a)
{
    return a * f64_op_sigmoid(a);
}

static inline double f64_op_softplus(double a)
{
    return (a < 0 ? 0 : a) + log1p(f64_exp(-fabs(a)));
}

static inline double f64_op_mish(double a)
{
    return a * tanh(f64_op_softplus(a));
}

static inline double f64_op_gelu(double a)
{
    return 0.5 * a * erfc(a * -0.7071067811865476);
}

static inline double f64_op_gelu_tanh(double a)
{
    return a * f64_op_sigmoid(1.5957691216057308 * (a + 0.044715 * a * a * a));
}

/* Angles too large for the reduction of vector_math.h. */
static inline void f32_op_repair(ry_expr_code code, size_t n, float *y, const float *a)
{
    if (code != RY_EXPR_sin && code != RY_EXPR_cos && code != RY_EXPR_tan) {
        return;
    }
    int any = 0;
    for (size_t i = 0; i < n; i++) {
        any |= fabsf(a[i]) > RY_F32_TRIG_MAX;
    }
    for (size_t i = 0; any && i < n; i++) {
        if (fabsf(a[i]) > RY_F32_TRIG_MAX) {
            double x = (double)a[i];
            y[i] = (float)(code == RY_EXPR_sin ? sin(x) : code == RY_EXPR_cos ? cos(x) : tan(x));
        }
    }
}

#define NEAR_LOOP(name)                                                               \
    static void near_##name(size_t n, void *restrict y, const void *a, const void *b, \
                            const void *c)                                            \
    {                                                                                 \
        float *restrict to = y;                                                       \
        const float *p = a;                                                           \
        (void)b;                                                                      \
        (void)c;                                                                      \
        for (size_t i = 0; i < n; i++) {                                              \
            to[i] = f32_near_##name(p[i]);                                            \
        }                                                                             \
    }
#define NEAR_ROW(name) [RY_EXPR_##name] = near_##name,
RY_EXPR_NEAR(NEAR_LOOP)
const ry_expr_loop RY_ISA_SYMBOL(expr_f32_near)[RY_EXPR_CODES] = {RY_EXPR_NEAR(NEAR_ROW)};

#define KEEP_LOOP(name)                                                               \
    static void keep_##name(size_t n, void *restrict y, const void *a, const void *b, \
                            const void *c)                                            \
    {                                                                                 \
        float *restrict to = y;                                                       \
        const float *p = a, limit = *(const float *)b, *q = c;                        \
        for (size_t i = 0; i < n; i++) {                                              \
            const float kept = q[i];                                                  \
            to[i] = f32_op_##name(p[i], limit) ? kept : 0;                            \
        }                                                                             \
    }
#define KEEP_ROW(name) [RY_EXPR_##name] = keep_##name,
RY_EXPR_KEEP(KEEP_LOOP)
const ry_expr_loop RY_ISA_SYMBOL(expr_f32_keep)[RY_EXPR_CODES] = {RY_EXPR_KEEP(KEEP_ROW)};

#define f64_op_repair(code, n, y, a) ((void)0) /* libm needs none */

#define HAS_FLOAT
#define OP(name) RY_ISA_JOIN(TYPE, RY_ISA_JOIN(_op_, name))

#define TYPE   f32
#define C_TYPE float
#include "kernels/cpu/expr/expr_loops.inc"

#define TYPE   f64
#define C_TYPE double
#include "kernels/cpu/expr/expr_loops.inc"
