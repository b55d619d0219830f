/* SPDX-License-Identifier: Apache-2.0 */
/* Activations in f32 for loops that the compiler vectorises, as vector_math.h has elementary
 * functions.
 *
 * ry_f32_NAME is within 3 ulp of the true value for every x (silu and gelu_tanh 3.5, mish 4.5, gelu
 * 5), subnormal results too. ry_f32_near_NAME, where there is one, takes about half the time: it is
 * wrong by at most 1e-6 of |x| (of the value, for erf). tests/unit/kernels/test_expr_functions.c
 * states each bound. At minus infinity what is x * 0 is NaN. bench/fit_functions.py prints the
 * coefficients. */
#ifndef RY_KERNELS_CPU_SIMD_VECTOR_ACTIVATIONS_H
#define RY_KERNELS_CPU_SIMD_VECTOR_ACTIVATIONS_H

#include "kernels/cpu/simd/vector_math.h"

/* 1 / (1 + exp(-x)), by exp(-|x|), so that small results keep their digits. */
static inline float ry_f32_sigmoid(float x)
{
    float e = ry_f32_exp(-ry_f32_abs(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* x sigmoid(x) = x p 2^n / (1 + p 2^n) for p 2^n = exp(-|x|); for positive x, without the first p
 * 2^n. The power of two comes last, after what would lose digits of a subnormal number; n is at
 * least -254, and the power of two then 0. */
static inline float ry_f32_gate(float x, float p, int32_t shifted)
{
    float e = ry_f32_scale(p, shifted), quotient = (x < 0.0f ? x * p : x) / (1.0f + e);
    return ry_f32_scale(quotient, x < 0.0f ? shifted : 254);
}

static inline float ry_f32_silu(float x)
{
    int32_t shifted;
    float a = ry_f32_abs(x), min = -RY_MIN_F32_EXP;
    float p = ry_f32_exp_reduced(-(a > min ? min : a), &shifted);
    return ry_f32_gate(x, p, shifted);
}

/* max(x, 0) + log(1 + e), e = exp(-|x|); log(1 + e) = 2 atanh(s) = 2s + s^3 P(s^2) for s = e / (2 +
 * e) <= 1/3; 2^-27 */
static inline float ry_f32_softplus(float x)
{
    float e = ry_f32_exp(-ry_f32_abs(x)), s = e / (2.0f + e), z = s * s;
    float p = 0x1.1efd6cp-2f;
    p = ry_f32_fma(p, z, 0x1.1eb4d2p-2f);
    p = ry_f32_fma(p, z, 0x1.99d294p-2f);
    p = ry_f32_fma(p, z, 0x1.5555p-1f);
    return (x < 0.0f ? 0.0f : x) + ry_f32_fma(s * z, p, s + s);
}

/* x tanh(log(1 + e)) = x e (e + 2) / (e (e + 2) + 2), e = p 2^n = exp(x); from 20 on the quotient
 * rounds to 1. The power of two comes last, as in silu. */
static inline float ry_f32_mish(float x)
{
    int32_t shifted;
    float c = x > 20.0f ? 20.0f : x;
    float p = ry_f32_exp_reduced(c < RY_MIN_F32_EXP ? RY_MIN_F32_EXP : c, &shifted);
    float e = ry_f32_scale(p, shifted);
    float quotient = p * (e + 2.0f) / (ry_f32_fma(e, e, e + e) + 2.0f);
    return ry_f32_scale(x * quotient, shifted);
}

/* x Phi(x) with Phi(-a) = exp(-a^2 / 2) R(a), R(a) = erfcx(a / sqrt 2) / 2 = P(a) / (sqrt(2 pi) a
 * P(a) + S(a)) on [0, 14]; 2^-24. For large a errors of P cancel. The exponent is taken in two
 * parts, the first exact (W. J. Cody, "Rational Chebyshev Approximations for the Error Function",
 * 1969). At the bound of `a` the power of two is 0. */
static inline float ry_f32_gelu(float x)
{
    float a = ry_f32_abs(x);
    a = a > 18.76f ? 18.76f : a;
    float p = 0x1.74d0bp-8f, s = 0x1.d2d5fap-7f;
    p = ry_f32_fma(p, a, 0x1.9f43d2p-5f);
    p = ry_f32_fma(p, a, 0x1.b278ecp-3f);
    p = ry_f32_fma(p, a, 0x1.e72f84p-2f);
    p = ry_f32_fma(p, a, 0.5f);
    s = ry_f32_fma(s, a, 0x1.052f84p-3f);
    s = ry_f32_fma(s, a, 0x1.fc036p-2f);
    s = ry_f32_fma(s, a, 1.0f);
    s = ry_f32_fma(p * a, 0x1.40d932p1f, s);
    const float rounder = RY_F32_ROUNDER + 254.0f;
    float head = ry_f32_of_bits(ry_f32_bits(a) & 0xfffff000u);
    float square = -0.5f * head * head, rest = -0.5f * (a - head) * (a + head);
    float t = ry_f32_fma(square, 0x1.715476p0f, rounder), n = t - rounder;
    rest = ry_f32_fma(n, -RY_F32_LN2_LOW, rest);
    float k = ry_f32_exp_kernel(ry_f32_fma(n, -RY_F32_LN2_HIGH, square) + rest);
    float base = (x > 0.0f ? 1.0f : x) * (p / s);
    float tail = ry_f32_scale(ry_f32_fma(k, base, base), (int32_t)ry_f32_bits(t));
    return x > 0.0f ? x * (1.0f - tail) : tail;
}

/* 2^f on [-1/2, 1/2]; 2^-27 */
static inline float ry_f32_exp2_kernel(float f)
{
    float p = 0x1.4447b8p-13f;
    p = ry_f32_fma(p, f, 0x1.5f096p-10f);
    p = ry_f32_fma(p, f, 0x1.3b2a28p-7f);
    p = ry_f32_fma(p, f, 0x1.c6af7ap-5f);
    p = ry_f32_fma(p, f, 0x1.ebfbep-3f);
    p = ry_f32_fma(p, f, 0x1.62e43p-1f);
    return ry_f32_fma(p, f, 1.0f);
}

/* GELU by tanh is x / (1 + 2^-t), t = x (RY_GELU_LINE + RY_GELU_CUBE x^2): 2 log2(e) sqrt(2 / pi),
 * and 0.044715 of it. */
#define RY_GELU_LINE 2.302208198144325
#define RY_GELU_CUBE 0.10294323958002350

/* The exponent in f64, since its error would be multiplied by its size. */
static inline float ry_f32_gelu_tanh(float x)
{
    double d = (double)x, t = d * (RY_GELU_LINE + RY_GELU_CUBE * d * d);
    t = t > 0.0 ? -t : t;
    t = t < -254.0 ? -254.0 : t;
    double sum = t + (RY_F64_ROUNDER + 254.0), n = sum - (RY_F64_ROUNDER + 254.0);
    return ry_f32_gate(x, ry_f32_exp2_kernel((float)(t - n)), (int32_t)(uint32_t)ry_f64_bits(sum));
}

/* x / (1 + 2^t): the relative error, below 1e-7 (1 + |t|), is that of a value below 1 in absolute
 * terms. The exponential overflows to infinity exactly at t = 128, so that minus infinity gives
 * NaN. */
static inline float ry_f32_near_gate(float x, float t)
{
    t = t < -126.0f ? -126.0f : t;
    t = t > 128.0f ? 128.0f : t;
    const float shifted = t + RY_F32_ROUNDER;
    const float p = ry_f32_exp2_kernel(t - (shifted - RY_F32_ROUNDER));
    return x / (1.0f + ry_f32_of_bits(ry_f32_bits(p) + (ry_f32_bits(shifted) << 23)));
}

static inline float ry_f32_near_silu(float x)
{
    return ry_f32_near_gate(x, x * -0x1.715476p0f);
}

static inline float ry_f32_near_gelu_tanh(float x)
{
    return ry_f32_near_gate(x, x * ry_f32_fma(x * x, -(float)RY_GELU_CUBE, -(float)RY_GELU_LINE));
}

/* erf(x) = x P(x^2) / Q(x^2), 3e-7, is bounded by 1, which it passes where x^2 is 15. */
static inline float ry_f32_near_erf(float x)
{
    float z = x * x;
    z = z > 15.0f ? 15.0f : z;
    float p = 0x1.364ae2p-12f, q = 0x1.23ea9ep-16f;
    p = ry_f32_fma(p, z, 0x1.0da204p-7f);
    p = ry_f32_fma(p, z, 0x1.0f9302p-4f);
    p = ry_f32_fma(p, z, 0x1.39d6c8p-2f);
    p = ry_f32_fma(p, z, 0x1.20dd6cp0f);
    q = ry_f32_fma(q, z, 0x1.102752p-9f);
    q = ry_f32_fma(q, z, 0x1.8958bap-6f);
    q = ry_f32_fma(q, z, 0x1.4899eap-3f);
    q = ry_f32_fma(q, z, 0x1.35ba4ep-1f);
    q = ry_f32_fma(q, z, 1.0f);
    float y = ry_f32_abs(x) * p / q;
    return ry_f32_copysign(y > 1.0f ? 1.0f : y, x);
}

/* x / 2 + |x| h, h = |Phi(x) - 1/2| in the same way: 1e-7, bounded by 1/2, which it passes where
 * x^2 is 29. Bounded as an integer h loses a NaN, which x still has. */
static inline float ry_f32_near_gelu(float x)
{
    float a = ry_f32_abs(x), z = x * x;
    z = z > 29.0f ? 29.0f : z;
    float p = 0x1.a9e878p-18f, q = 0x1.1e03b4p-21f;
    p = ry_f32_fma(p, z, 0x1.6e668p-12f);
    p = ry_f32_fma(p, z, 0x1.797584p-8f);
    p = ry_f32_fma(p, z, 0x1.b0e2eap-5f);
    p = ry_f32_fma(p, z, 0x1.988442p-2f);
    q = ry_f32_fma(q, z, 0x1.060c7ep-13f);
    q = ry_f32_fma(q, z, 0x1.7df32cp-9f);
    q = ry_f32_fma(q, z, 0x1.41f5b8p-5f);
    q = ry_f32_fma(q, z, 0x1.324beap-2f);
    q = ry_f32_fma(q, z, 1.0f);
    int32_t h = (int32_t)ry_f32_bits(a * p / q), max = (int32_t)ry_f32_bits(0.5f);
    return ry_f32_fma(a, ry_f32_of_bits((uint32_t)(h < max ? h : max)), 0.5f * x);
}

#endif
