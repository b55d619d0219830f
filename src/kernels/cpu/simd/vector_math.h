/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions and activations in f32, and exp in f64, for loops that the compiler
 * vectorises:
 *
 *   for (size_t i = 0; i < n; i++)
 *       y[i] = f32_tanh(x[i]);
 *
 * Compile with -O3 -fno-math-errno -fno-trapping-math, the flags of *_isa.c.
 *
 * kernels/common/elementary.cl has the functions that GPUs share, the methods and the errors. sin,
 * cos and tan hold for |x| <= RY_F32_TRIG_MAX; callers take libm beyond it. */
#ifndef RY_KERNELS_CPU_SIMD_VECTOR_MATH_H
#define RY_KERNELS_CPU_SIMD_VECTOR_MATH_H

#include "base/float_bits.h"
#include <math.h>
#include <stdint.h>

#define RY_F32_TRIG_MAX 0x1p28f

/* The words of kernels/common/elementary.cl. */
#define FUNCTION     static inline
#define f32_bits     ry_f32_bits
#define f32_of_bits  ry_f32_of_bits
#define f32_sqrt     sqrtf
#define F32_NAN      ((float)NAN)
#define F32_INFINITY ((float)INFINITY)
#if defined(__SSE4_1__) || defined(RY_NEON)
#define F32_RINT __builtin_rintf
#define F64_RINT __builtin_rint
#endif

/* a * b + c, fused where the machine fuses. */
static inline float f32_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(RY_NEON)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double f64_fma(double a, double b, double c)
{
#if defined(__FMA__) || defined(RY_NEON)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

static inline float f32_abs(float x)
{
    return ry_f32_of_bits(ry_f32_bits(x) & 0x7fffffffu);
}

static inline float f32_copysign(float x, float sign)
{
    return ry_f32_of_bits((ry_f32_bits(x) & 0x7fffffffu) | (ry_f32_bits(sign) & 0x80000000u));
}

#include "kernels/common/elementary.cl"
#undef FUNCTION

/* F32_ROUNDER for f64. */
#define RY_F64_ROUNDER 0x1.8p52

static inline double f64_round(double x)
{
#ifdef F64_RINT
    return F64_RINT(x);
#else
    uint64_t sign = ry_f64_bits(x) & 0x8000000000000000u;
    double a = ry_f64_of_bits(ry_f64_bits(x) ^ sign), r = (a + 0x1p52) - 0x1p52;
    return ry_f64_of_bits(ry_f64_bits(a < 0x1p52 ? r : a) | sign);
#endif
}

/* exp(x) - 1 = r + r^2 P(r) for |r| <= ln(2) / 2, Taylor's P; 2^-58 */
static inline double f64_exp_kernel(double r)
{
    double p = 0x1.6124613a86d09p-33;
    p = f64_fma(p, r, 0x1.1eed8eff8d898p-29);
    p = f64_fma(p, r, 0x1.ae64567f544e4p-26);
    p = f64_fma(p, r, 0x1.27e4fb7789f5cp-22);
    p = f64_fma(p, r, 0x1.71de3a556c734p-19);
    p = f64_fma(p, r, 0x1.a01a01a01a01ap-16);
    p = f64_fma(p, r, 0x1.a01a01a01a01ap-13);
    p = f64_fma(p, r, 0x1.6c16c16c16c17p-10);
    p = f64_fma(p, r, 0x1.1111111111111p-7);
    p = f64_fma(p, r, 0x1.5555555555555p-5);
    p = f64_fma(p, r, 0x1.5555555555555p-3);
    p = f64_fma(p, r, 0.5);
    return f64_fma(r * r, p, r);
}

/* x = n ln 2 + r; 2^n as two products, since it may be beyond the exponent's range. Below the
 * smallest number it is exactly 0, which f32_exp tells why. 1 ulp */
static inline double f64_exp(double x)
{
    double c = x > 710 ? 710 : x;
    c = c < -745.2 ? -1418.179 : c;
    const double t = f64_fma(c, 0x1.71547652b82fep0, RY_F64_ROUNDER + 2046),
                 n = t - (RY_F64_ROUNDER + 2046),
                 r = f64_fma(n, -0x1.a39ef35793c76p-33, f64_fma(n, -0x1.62e42feep-1, c));
    const uint64_t sum = ry_f64_bits(t) - ry_f64_bits(RY_F64_ROUNDER), first = sum >> 1;
    return (1 + f64_exp_kernel(r)) * ry_f64_of_bits(first << 52) *
           ry_f64_of_bits((sum - first) << 52);
}

/* x - n * pi/2 for the nearest n, in f64: n * (25 bits of pi/2) is exact up to RY_F32_TRIG_MAX. */
static inline double f32_trig_reduce(float x, uint64_t *quadrant)
{
    double d = (double)x, t = f64_fma(d, 0x1.45f306dc9c883p-1, RY_F64_ROUNDER),
           n = t - RY_F64_ROUNDER;
    *quadrant = ry_f64_bits(t);
    return f64_fma(n, -0x1.110b4611a6263p-26, f64_fma(n, -0x1.921fb5p0, d));
}

/* 2^-38 on [-pi/4, pi/4] */
static inline double f32_sin_kernel(double r)
{
    double z = r * r, p = 0x1.6cd19d00546a3p-19;
    p = f64_fma(p, z, -0x1.a00f7dc2e9e16p-13);
    p = f64_fma(p, z, 0x1.11110868a699p-7);
    p = f64_fma(p, z, -0x1.5555554c6f716p-3);
    return r * f64_fma(p, z, 1.0);
}

/* 2^-34 */
static inline double f32_cos_kernel(double r)
{
    double z = r * r, p = 0x1.99162749d6daep-16;
    p = f64_fma(p, z, -0x1.6c07ef69a23bp-10);
    p = f64_fma(p, z, 0x1.55553c738b408p-5);
    p = f64_fma(p, z, -0x1.ffffffcb749afp-2);
    return f64_fma(p, z, 1.0);
}

static inline float f32_sin_quadrant(double r, uint64_t quadrant)
{
    double y = quadrant & 1 ? f32_cos_kernel(r) : f32_sin_kernel(r);
    return (float)ry_f64_of_bits(ry_f64_bits(y) ^ (quadrant & 2) << 62);
}

static inline float f32_sin(float x)
{
    uint64_t quadrant;
    double r = f32_trig_reduce(x, &quadrant);
    return f32_sin_quadrant(r, quadrant);
}

static inline float f32_cos(float x)
{
    uint64_t quadrant;
    double r = f32_trig_reduce(x, &quadrant);
    return f32_sin_quadrant(r, quadrant + 1);
}

static inline float f32_tan(float x)
{
    uint64_t quadrant;
    double r = f32_trig_reduce(x, &quadrant);
    double s = f32_sin_kernel(r), c = f32_cos_kernel(r);
    double above = quadrant & 1 ? -c : s, below = quadrant & 1 ? s : c;
    return (float)(above / below);
}

/* log2(x) in f64 for x > 0: exponent + s Q(s^2), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2));
 * 2^-38 */
static inline double f64_log2(double x)
{
    uint64_t bits = ry_f64_bits(x), above = bits - 0x3fe6a09e667f3bcdu;
    double m = ry_f64_of_bits(bits - (above & 0xfff0000000000000u));
    double exponent = (double)((int32_t)(uint32_t)(above >> 32) >> 20);
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 0x1.5ce98af244e75p-2;
    p = f64_fma(p, z, 0x1.a58d78ccb358cp-2);
    p = f64_fma(p, z, 0x1.27778008c1bb3p-1);
    p = f64_fma(p, z, 0x1.ec709d12a711ap-1);
    p = f64_fma(p, z, 0x1.71547652bee11p1);
    return f64_fma(s, p, exponent);
}

/* 2^x in f64 for |x| < 1000; 2^-35 */
static inline double f64_exp2(double x)
{
    double t = x + RY_F64_ROUNDER, r = x - (t - RY_F64_ROUNDER), p = 0x1.fde5fe328a61ep-17;
    p = f64_fma(p, r, 0x1.445c840469a21p-13);
    p = f64_fma(p, r, 0x1.5d8a85fe7833cp-10);
    p = f64_fma(p, r, 0x1.3b29f39d4d49cp-7);
    p = f64_fma(p, r, 0x1.c6b08ac06c325p-5);
    p = f64_fma(p, r, 0x1.ebfbe0778724bp-3);
    p = f64_fma(p, r, 0x1.62e42ff0e191dp-1);
    p = f64_fma(p, r, 1.0);
    return p * ry_f64_of_bits((ry_f64_bits(t) + 1023) << 52);
}

/* 2^(y log2 |x|) in f64, then the sign and the cases of C Annex F.10.4.4. */
static inline float f32_pow(float x, float y)
{
    double a = (double)f32_abs(x), d = (double)y, half = 0.5 * d;
    double l = f64_log2(a);
    l = a == 0.0 ? -(double)INFINITY : l;
    l = a == (double)INFINITY ? (double)INFINITY : l;
    double e = d * l;
    e = e > 200.0 ? 200.0 : e;
    e = e < -200.0 ? -200.0 : e;
    double r = f64_exp2(e);
    double full_d = (d + RY_F64_ROUNDER) - RY_F64_ROUNDER,
           full_half = (half + RY_F64_ROUNDER) - RY_F64_ROUNDER;
    int large = f32_abs(y) >= 0x1p24f, full = large | (full_d == d),
        odd = (large ^ 1) & full & (full_half != half);
    int endless = a == (double)INFINITY, invalid = (x < 0.0f) & (full ^ 1) & (endless ^ 1);
    int negative = odd & (int)(ry_f32_bits(x) >> 31);
    r = invalid ? (double)NAN : r;
    r = (endless & (d == d)) ? (d > 0.0 ? (double)INFINITY : 0.0) : r;
    r = ((a == 1.0) & large) ? 1.0 : r;
    r = negative ? -r : r;
    r = x != x ? a : r;
    r = ((x == 1.0f) | (y == 0.0f)) ? 1.0 : r;
    return (float)r;
}

/* GELU_LINE and GELU_CUBE in f64. */
#define RY_GELU_LINE 2.302208198144325
#define RY_GELU_CUBE 0.10294323958002350

/* The exponent in f64, since its error would be multiplied by its size. */
static inline float f32_gelu_tanh(float x)
{
    double d = (double)x, t = d * (RY_GELU_LINE + RY_GELU_CUBE * d * d);
    t = t > 0.0 ? -t : t;
    t = t < -254.0 ? -254.0 : t;
    double sum = t + (RY_F64_ROUNDER + 254.0), n = sum - (RY_F64_ROUNDER + 254.0);
    return f32_gate(x, f32_exp2_kernel((float)(t - n)), (int32_t)(uint32_t)ry_f64_bits(sum));
}

#endif
