/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions in f32 for loops that the compiler vectorises: straight-line code without
 * calls, tables or branches.
 *
 *   for (size_t i = 0; i < n; i++)
 *       y[i] = ry_f32_tanh(x[i]);
 *
 * Compile with -O3 -fno-math-errno -fno-trapping-math, the flags of *_isa.c.
 *
 * Errors are below 1 to 3 ulp over the whole range (tests/unit/kernels/test_expr_functions.c states
 * each); infinities, NaN, signed zero and subnormal numbers are as C Annex F says. sin, cos and tan
 * hold for |x| <= RY_F32_TRIG_MAX; callers take libm beyond it.
 *
 * Methods: argument reduction with split constants (W. J. Cody, W. Waite, "Software Manual for the
 * Elementary Functions", 1980); polynomials are minimax with coefficients of the working precision
 * (N. Brisebarre, S. Chevillard, "Efficient polynomial L-infinity approximations", 2007, as
 * Sollya's fpminimax); the error noted beside each is relative, before rounding. J.-M. Muller,
 * "Elementary Functions", 2016, has the identities. */
#ifndef RY_KERNELS_CPU_SIMD_VECTOR_MATH_H
#define RY_KERNELS_CPU_SIMD_VECTOR_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#define RY_F32_TRIG_MAX 0x1p28f

static inline uint32_t ry_f32_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float ry_f32_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t ry_f64_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double ry_f64_of_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* a * b + c, fused where the machine fuses. */
static inline float ry_f32_fma(float a, float b, float c)
{
#if defined(__FMA__) || defined(RY_NEON)
    return __builtin_fmaf(a, b, c);
#else
    return a * b + c;
#endif
}

static inline double ry_f64_fma(double a, double b, double c)
{
#if defined(__FMA__) || defined(RY_NEON)
    return __builtin_fma(a, b, c);
#else
    return a * b + c;
#endif
}

static inline float ry_f32_abs(float x)
{
    return ry_f32_of_bits(ry_f32_bits(x) & 0x7fffffffu);
}

static inline float ry_f32_copysign(float x, float sign)
{
    return ry_f32_of_bits((ry_f32_bits(x) & 0x7fffffffu) | (ry_f32_bits(sign) & 0x80000000u));
}

/* Adding and subtracting these rounds to the nearest integer, which is then in the low bits of the
 * sum. */
#define RY_F32_ROUNDER 0x1.8p23f
#define RY_F64_ROUNDER 0x1.8p52

/* To the nearest whole number, half to even. */
static inline float ry_f32_round(float x)
{
    float a = ry_f32_abs(x), r = (a + 0x1p23f) - 0x1p23f;
    return ry_f32_copysign(a < 0x1p23f ? r : a, x);
}

static inline double ry_f64_round(double x)
{
    uint64_t sign = ry_f64_bits(x) & 0x8000000000000000u;
    double a = ry_f64_of_bits(ry_f64_bits(x) ^ sign), r = (a + 0x1p52) - 0x1p52;
    return ry_f64_of_bits(ry_f64_bits(a < 0x1p52 ? r : a) | sign);
}

/* ln 2 in two parts: products of the first with the 8 bits of an exponent are exact. */
#define RY_F32_LN2_HIGH 0x1.62e4p-1f
#define RY_F32_LN2_LOW  0x1.7f7d1cp-20f

/* exp(x) - 1 = r + r^2 P(r) for |r| <= ln(2) / 2; 2^-29 */
static inline float ry_f32_exp_kernel(float r)
{
    float p = 0x1.694c8ep-10f;
    p = ry_f32_fma(p, r, 0x1.12397ep-7f);
    p = ry_f32_fma(p, r, 0x1.555a26p-5f);
    p = ry_f32_fma(p, r, 0x1.555492p-3f);
    p = ry_f32_fma(p, r, 0x1.fffffap-2f);
    return ry_f32_fma(r * r, p, r);
}

/* x = n ln 2 + r: exp(r), and the integer n + 254 in the low bits of *shifted. Infinity gives
 * infinity: n is bounded above and r then is not. */
static inline float ry_f32_exp_reduced(float x, int32_t *shifted)
{
    const float rounder = RY_F32_ROUNDER + 254.0f;
    int32_t bits = (int32_t)ry_f32_bits(ry_f32_fma(x, 0x1.715476p0f, rounder)),
            max = (int32_t)ry_f32_bits(rounder + 129.0f);
    *shifted = bits < max ? bits : max;
    float n = ry_f32_of_bits((uint32_t)*shifted) - rounder;
    float r = ry_f32_fma(n, -RY_F32_LN2_LOW, ry_f32_fma(n, -RY_F32_LN2_HIGH, x));
    return 1.0f + ry_f32_exp_kernel(r);
}

/* p * 2^n, with n + 254 in the low bits of `shifted`, as two products: the power of two may be
 * beyond the exponent's range. */
static inline float ry_f32_scale(float p, int32_t shifted)
{
    uint32_t sum = (uint32_t)shifted, half = sum >> 1;
    return p * ry_f32_of_bits(half << 23) * ry_f32_of_bits((sum - half) << 23);
}

/* Far below the smallest number n is -254 and the power of two exactly 0: one subnormal lane, or
 * one that rounds from there to 0, makes a product of the full vector several times slower on many
 * CPUs. */
#define RY_MIN_F32_EXP (-176.2f)

static inline float ry_f32_exp(float x)
{
    int32_t shifted;
    float p = ry_f32_exp_reduced(x < RY_MIN_F32_EXP ? RY_MIN_F32_EXP : x, &shifted);
    return ry_f32_scale(p, shifted);
}

/* exp(x) / 2 for x >= 0, which overflows no earlier than its half */
static inline float ry_f32_half_exp(float x)
{
    int32_t shifted;
    float p = ry_f32_exp_reduced(x, &shifted);
    return ry_f32_scale(p, shifted - 1);
}

/* For -87 <= x <= 88 only: where a function takes one of two values, the one that is not taken must
 * not be subnormal either. */
static inline float ry_f32_exp_bounded(float x)
{
    float t = ry_f32_fma(x, 0x1.715476p0f, RY_F32_ROUNDER), n = t - RY_F32_ROUNDER;
    float r = ry_f32_fma(n, -RY_F32_LN2_LOW, ry_f32_fma(n, -RY_F32_LN2_HIGH, x));
    return (1.0f + ry_f32_exp_kernel(r)) * ry_f32_of_bits((ry_f32_bits(t) + 127u) << 23);
}

/* 2^k (1 + e) - 1 = 2 (2^(k-1) e + (2^(k-1) - 1/2)): the half keeps the power in range at the top.
 * P as in exp, one degree more; 2^-31 */
static inline float ry_f32_expm1(float x)
{
    float c = x > 89.0f ? 89.0f : x;
    c = c < -20.0f ? -20.0f : c;
    float t = ry_f32_fma(c, 0x1.715476p0f, RY_F32_ROUNDER), n = t - RY_F32_ROUNDER;
    float r = ry_f32_fma(n, -RY_F32_LN2_LOW, ry_f32_fma(n, -RY_F32_LN2_HIGH, c));
    float p = 0x1.9e0bfp-13f;
    p = ry_f32_fma(p, r, 0x1.6d4368p-10f);
    p = ry_f32_fma(p, r, 0x1.111306p-7f);
    p = ry_f32_fma(p, r, 0x1.5554fp-5f);
    p = ry_f32_fma(p, r, 0x1.555554p-3f);
    p = ry_f32_fma(p, r, 0.5f);
    float e = ry_f32_fma(r * r, p, r);
    float s = ry_f32_of_bits(((ry_f32_bits(t) - ry_f32_bits(RY_F32_ROUNDER)) + 126u) << 23);
    float y = 2.0f * ry_f32_fma(e, s, s - 0.5f);
    return ry_f32_abs(x) < 0x1p-25f ? x : y;
}

/* log(1 + f) + exponent * ln 2 for sqrt(1/2) <= 1 + f < sqrt(2): f - f^2/2 + f^3 P(f); 2^-31 */
static inline float ry_f32_log_kernel(float f, float exponent)
{
    float p = 0x1.13ca2cp-4f, z = f * f;
    p = ry_f32_fma(p, f, -0x1.dda796p-4f);
    p = ry_f32_fma(p, f, 0x1.e6dfep-4f);
    p = ry_f32_fma(p, f, -0x1.fc3c88p-4f);
    p = ry_f32_fma(p, f, 0x1.233ab8p-3f);
    p = ry_f32_fma(p, f, -0x1.555b92p-3f);
    p = ry_f32_fma(p, f, 0x1.99a47ap-3f);
    p = ry_f32_fma(p, f, -0x1.000008p-2f);
    p = ry_f32_fma(p, f, 0x1.555548p-2f);
    float y = ry_f32_fma(z * f, p, exponent * RY_F32_LN2_LOW);
    y = ry_f32_fma(z, -0.5f, y);
    return ry_f32_fma(exponent, RY_F32_LN2_HIGH, f + y);
}

/* x = 2^exponent * mantissa with the mantissa in [sqrt(1/2), sqrt(2)); x is normal and positive. */
static inline float ry_f32_split(float x, int32_t *exponent)
{
    uint32_t bits = ry_f32_bits(x), above = bits - 0x3f3504f3u;
    *exponent = (int32_t)above >> 23;
    return ry_f32_of_bits(bits - (above & 0xff800000u));
}

static inline float ry_f32_log(float x)
{
    int32_t exponent;
    float normal = x < 0x1p-126f ? x * 0x1p23f : x;
    float m = ry_f32_split(normal, &exponent);
    float y = ry_f32_log_kernel(m - 1.0f, (float)exponent - (x < 0x1p-126f ? 23.0f : 0.0f));
    y = x < 0.0f ? (float)NAN : y;
    y = x == 0.0f ? -(float)INFINITY : y;
    return x < (float)INFINITY ? y : x + x; /* infinity and NaN */
}

/* log(u) with u = 1 + x rounded; what the rounding lost is added to the mantissa. */
static inline float ry_f32_log1p(float x)
{
    int32_t exponent;
    float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    float m = ry_f32_split(u, &exponent);
    /* beyond 2^126 the lost bits are below the result's precision */
    uint32_t scale = exponent > 126 ? 0u : (uint32_t)(127 - exponent) << 23;
    float f = ry_f32_fma(lost, ry_f32_of_bits(scale), m - 1.0f);
    float y = ry_f32_log_kernel(f, (float)exponent);
    y = ry_f32_abs(x) < 0x1p-25f ? x : y;
    y = x < -1.0f ? (float)NAN : y;
    y = x == -1.0f ? -(float)INFINITY : y;
    return x < (float)INFINITY ? y : x + x;
}

/* x - n * pi/2 for the nearest n, in f64: n * (25 bits of pi/2) is exact up to RY_F32_TRIG_MAX. */
static inline double ry_f32_trig_reduce(float x, uint64_t *quadrant)
{
    double d = (double)x, t = ry_f64_fma(d, 0x1.45f306dc9c883p-1, RY_F64_ROUNDER),
           n = t - RY_F64_ROUNDER;
    *quadrant = ry_f64_bits(t);
    return ry_f64_fma(n, -0x1.110b4611a6263p-26, ry_f64_fma(n, -0x1.921fb5p0, d));
}

/* 2^-38 on [-pi/4, pi/4] */
static inline double ry_f32_sin_kernel(double r)
{
    double z = r * r, p = 0x1.6cd19d00546a3p-19;
    p = ry_f64_fma(p, z, -0x1.a00f7dc2e9e16p-13);
    p = ry_f64_fma(p, z, 0x1.11110868a699p-7);
    p = ry_f64_fma(p, z, -0x1.5555554c6f716p-3);
    return r * ry_f64_fma(p, z, 1.0);
}

/* 2^-34 */
static inline double ry_f32_cos_kernel(double r)
{
    double z = r * r, p = 0x1.99162749d6daep-16;
    p = ry_f64_fma(p, z, -0x1.6c07ef69a23bp-10);
    p = ry_f64_fma(p, z, 0x1.55553c738b408p-5);
    p = ry_f64_fma(p, z, -0x1.ffffffcb749afp-2);
    return ry_f64_fma(p, z, 1.0);
}

static inline float ry_f32_sin_quadrant(double r, uint64_t quadrant)
{
    double y = quadrant & 1 ? ry_f32_cos_kernel(r) : ry_f32_sin_kernel(r);
    return (float)ry_f64_of_bits(ry_f64_bits(y) ^ (quadrant & 2) << 62);
}

static inline float ry_f32_sin(float x)
{
    uint64_t quadrant;
    double r = ry_f32_trig_reduce(x, &quadrant);
    return ry_f32_sin_quadrant(r, quadrant);
}

static inline float ry_f32_cos(float x)
{
    uint64_t quadrant;
    double r = ry_f32_trig_reduce(x, &quadrant);
    return ry_f32_sin_quadrant(r, quadrant + 1);
}

static inline float ry_f32_tan(float x)
{
    uint64_t quadrant;
    double r = ry_f32_trig_reduce(x, &quadrant);
    double s = ry_f32_sin_kernel(r), c = ry_f32_cos_kernel(r);
    double above = quadrant & 1 ? -c : s, below = quadrant & 1 ? s : c;
    return (float)(above / below);
}

#define RY_F32_PIO2_HIGH 0x1.921fb6p0f
#define RY_F32_PIO2_LOW  (-0x1.777a5cp-25f)

/* (asin(s) - s) / s as a function of s^2 <= 1/4; 2^-28 of asin */
static inline float ry_f32_asin_kernel(float z)
{
    float p = 0x1.5959aap-5f;
    p = ry_f32_fma(p, z, 0x1.8c415ap-6f);
    p = ry_f32_fma(p, z, 0x1.747b72p-5f);
    p = ry_f32_fma(p, z, 0x1.330206p-4f);
    p = ry_f32_fma(p, z, 0x1.5555c8p-3f);
    return p * z;
}

/* Beyond 1/2: asin(x) = pi/2 - 2 asin(sqrt((1 - x) / 2)). */
static inline float ry_f32_asin(float x)
{
    float a = ry_f32_abs(x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
    float s = a > 0.5f ? sqrtf(z) : a;
    float r = ry_f32_fma(s, ry_f32_asin_kernel(z), s);
    float y = a > 0.5f ? ry_f32_fma(r, -2.0f, RY_F32_PIO2_HIGH) + RY_F32_PIO2_LOW : r;
    return ry_f32_copysign(y, x);
}

static inline float ry_f32_acos(float x)
{
    float a = ry_f32_abs(x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
    float s = a > 0.5f ? sqrtf(z) : x;
    float r = ry_f32_fma(s, ry_f32_asin_kernel(z), s);
    float outer = x > 0.0f ? 2.0f * r : 2.0f * (RY_F32_PIO2_HIGH - (r - RY_F32_PIO2_LOW));
    return a > 0.5f ? outer : RY_F32_PIO2_HIGH - (r - RY_F32_PIO2_LOW);
}

/* Beyond 1: atan(x) = pi/2 - atan(1 / x). 2^-29 on [0, 1] */
static inline float ry_f32_atan(float x)
{
    float a = ry_f32_abs(x), t = a > 1.0f ? 1.0f / a : a, z = t * t;
    float p = -0x1.d5a1aap-10f;
    p = ry_f32_fma(p, z, 0x1.6551e2p-7f);
    p = ry_f32_fma(p, z, -0x1.fe7d24p-6f);
    p = ry_f32_fma(p, z, 0x1.da9c2ep-5f);
    p = ry_f32_fma(p, z, -0x1.5825f2p-4f);
    p = ry_f32_fma(p, z, 0x1.c0946cp-4f);
    p = ry_f32_fma(p, z, -0x1.24211ap-3f);
    p = ry_f32_fma(p, z, 0x1.9991ecp-3f);
    p = ry_f32_fma(p, z, -0x1.55553ep-2f);
    float r = ry_f32_fma(t, p * z, t);
    float y = a > 1.0f ? RY_F32_PIO2_HIGH - (r - RY_F32_PIO2_LOW) : r;
    return ry_f32_copysign(y, x);
}

/* Below 1 a polynomial (2^-32), above it h - 1/(4h) with h = exp(x) / 2, which overflows no earlier
 * than sinh does. */
static inline float ry_f32_sinh(float x)
{
    float a = ry_f32_abs(x), z = a * a, h = ry_f32_half_exp(a);
    float p = 0x1.76771ep-19f;
    p = ry_f32_fma(p, z, 0x1.a01c22p-13f);
    p = ry_f32_fma(p, z, 0x1.1110eap-7f);
    p = ry_f32_fma(p, z, 0x1.555556p-3f);
    float y = a < 1.0f ? ry_f32_fma(a, p * z, a) : h - 0.25f / h;
    return ry_f32_copysign(y, x);
}

static inline float ry_f32_cosh(float x)
{
    float h = ry_f32_half_exp(ry_f32_abs(x));
    return h + 0.25f / h;
}

/* m / (m + 2) with m = exp(2|x|) - 1 = 2^n e + (2^n - 1), e = r + r^2 P(r) (2^-26 of e); from 10 on
 * the value rounds to 1. bench/fit_functions.py prints the coefficients. */
static inline float ry_f32_tanh(float x)
{
    float a = ry_f32_abs(x), c = a > 10.0f ? 20.0f : a + a;
    float t = ry_f32_fma(c, 0x1.715476p0f, RY_F32_ROUNDER), n = t - RY_F32_ROUNDER;
    float r = ry_f32_fma(n, -RY_F32_LN2_LOW, ry_f32_fma(n, -RY_F32_LN2_HIGH, c));
    float p = 0x1.6d7212p-10f;
    p = ry_f32_fma(p, r, 0x1.12266ap-7f);
    p = ry_f32_fma(p, r, 0x1.5554c8p-5f);
    p = ry_f32_fma(p, r, 0x1.5554b2p-3f);
    p = ry_f32_fma(p, r, 0.5f);
    float e = ry_f32_fma(r * r, p, r), s = ry_f32_of_bits((ry_f32_bits(t) + 127u) << 23);
    float m = ry_f32_fma(e, s, s - 1.0f);
    return ry_f32_copysign(m / (m + 2.0f), x);
}

#define RY_F32_LN2 0x1.62e43p-1f

/* asinh(x) = log1p(x + x^2 / (1 + sqrt(1 + x^2))), and log(2x) where x^2 would overflow. */
static inline float ry_f32_asinh(float x)
{
    float a = ry_f32_abs(x), z = a * a, near = ry_f32_log1p(a + z / (1.0f + sqrtf(1.0f + z))),
          far = ry_f32_log(a) + RY_F32_LN2;
    return ry_f32_copysign(a > 0x1p30f ? far : near, x);
}

static inline float ry_f32_acosh(float x)
{
    float t = x - 1.0f, near = ry_f32_log1p(t + sqrtf(t * (t + 2.0f))),
          far = ry_f32_log(x) + RY_F32_LN2;
    float y = x > 0x1p30f ? far : near;
    return x < 1.0f ? (float)NAN : y;
}

static inline float ry_f32_atanh(float x)
{
    float a = ry_f32_abs(x);
    return ry_f32_copysign(0.5f * ry_f32_log1p((a + a) / (1.0f - a)), x);
}

/* Below 0.92 x + x P(x^2) (2^-31), above it 1 - exp(-Q(x)) with Q near -log(erfc) (1 - erf within
 * 2^-29). From 3.95 on the value rounds to 1. */
static inline float ry_f32_erf(float x)
{
    float a = ry_f32_abs(x), z = a * a, c = a > 3.95f ? 3.95f : a;
    float p = 0x1.5d6d2ap-14f, q = -0x1.b345bcp-20f;
    p = ry_f32_fma(p, z, -0x1.aa51f4p-11f);
    p = ry_f32_fma(p, z, 0x1.54c5dcp-8f);
    p = ry_f32_fma(p, z, -0x1.b80db4p-6f);
    p = ry_f32_fma(p, z, 0x1.ce2df2p-4f);
    p = ry_f32_fma(p, z, -0x1.812742p-2f);
    p = ry_f32_fma(p, z, 0x1.06eba8p-3f);
    q = ry_f32_fma(q, c, 0x1.7f860cp-15f);
    q = ry_f32_fma(q, c, -0x1.3744dap-11f);
    q = ry_f32_fma(q, c, 0x1.36e41cp-8f);
    q = ry_f32_fma(q, c, -0x1.b01774p-6f);
    q = ry_f32_fma(q, c, 0x1.c2836cp-4f);
    q = ry_f32_fma(q, c, 0x1.438c58p-1f);
    q = ry_f32_fma(q, c, 0x1.2152b8p0f);
    q = ry_f32_fma(q, c, -0x1.3dd0acp-12f);
    float y = a < 0.92f ? ry_f32_fma(a, p, a) : 1.0f - ry_f32_exp_bounded(-q);
    return ry_f32_copysign(y, x);
}

/* log2(x) in f64 for x > 0: exponent + s Q(s^2), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2));
 * 2^-38 */
static inline double ry_f64_log2(double x)
{
    uint64_t bits = ry_f64_bits(x), above = bits - 0x3fe6a09e667f3bcdu;
    double m = ry_f64_of_bits(bits - (above & 0xfff0000000000000u));
    double exponent = (double)((int32_t)(uint32_t)(above >> 32) >> 20);
    double s = (m - 1.0) / (m + 1.0), z = s * s, p = 0x1.5ce98af244e75p-2;
    p = ry_f64_fma(p, z, 0x1.a58d78ccb358cp-2);
    p = ry_f64_fma(p, z, 0x1.27778008c1bb3p-1);
    p = ry_f64_fma(p, z, 0x1.ec709d12a711ap-1);
    p = ry_f64_fma(p, z, 0x1.71547652bee11p1);
    return ry_f64_fma(s, p, exponent);
}

/* 2^x in f64 for |x| < 1000; 2^-35 */
static inline double ry_f64_exp2(double x)
{
    double t = x + RY_F64_ROUNDER, r = x - (t - RY_F64_ROUNDER), p = 0x1.fde5fe328a61ep-17;
    p = ry_f64_fma(p, r, 0x1.445c840469a21p-13);
    p = ry_f64_fma(p, r, 0x1.5d8a85fe7833cp-10);
    p = ry_f64_fma(p, r, 0x1.3b29f39d4d49cp-7);
    p = ry_f64_fma(p, r, 0x1.c6b08ac06c325p-5);
    p = ry_f64_fma(p, r, 0x1.ebfbe0778724bp-3);
    p = ry_f64_fma(p, r, 0x1.62e42ff0e191dp-1);
    p = ry_f64_fma(p, r, 1.0);
    return p * ry_f64_of_bits((ry_f64_bits(t) + 1023) << 52);
}

/* 2^(y log2 |x|) in f64, then the sign and the cases of C Annex F.10.4.4. */
static inline float ry_f32_pow(float x, float y)
{
    double a = (double)ry_f32_abs(x), d = (double)y, half = 0.5 * d;
    double l = ry_f64_log2(a);
    l = a == 0.0 ? -(double)INFINITY : l;
    l = a == (double)INFINITY ? (double)INFINITY : l;
    double e = d * l;
    e = e > 200.0 ? 200.0 : e;
    e = e < -200.0 ? -200.0 : e;
    double r = ry_f64_exp2(e);
    double full_d = (d + RY_F64_ROUNDER) - RY_F64_ROUNDER,
           full_half = (half + RY_F64_ROUNDER) - RY_F64_ROUNDER;
    int large = ry_f32_abs(y) >= 0x1p24f, full = large | (full_d == d),
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

#endif
