/* SPDX-License-Identifier: Apache-2.0 */
/* Elementary functions and activations in f32, one text for processors and GPUs: straight-line code
 * without calls, tables or branches.
 *
 * Its words are those of a dialect: FUNCTION, f32_bits, f32_of_bits, f32_abs, f32_copysign, f32_fma,
 * f32_sqrt, F32_NAN, F32_INFINITY. The dialects are kernels/cpu/simd/vector_math.h,
 * device/opencl/dialect.cl and device/cuda/dialect.cu. sin, cos, tan, pow and gelu_tanh are apart:
 * processors compute them in f64.
 *
 * Elementary functions are within 1 to 3 ulp of the true value over the whole range. Infinities,
 * NaN, signed zero and subnormal numbers are as C Annex F says. Activations are within 3 ulp (silu
 * 3.5, mish 4.5, gelu 5). f32_near_NAME takes about half the time of f32_NAME; it is wrong by at
 * most 1e-6 of |x| (of the value, for erf). tests/unit/kernels/test_expr_functions.c states each
 * bound. At minus infinity, x * 0 is NaN.
 *
 * Methods: argument reduction with split constants (W. J. Cody, W. Waite, "Software Manual for the
 * Elementary Functions", 1980); polynomials are minimax with coefficients of the working precision
 * (N. Brisebarre, S. Chevillard, "Efficient polynomial L-infinity approximations", 2007, as
 * Sollya's fpminimax); the error noted beside each is relative, before rounding. J.-M. Muller,
 * "Elementary Functions", 2016, has the identities. bench/fit_functions.py prints the coefficients
 * of activations. */

/* Adding and subtracting it rounds to the nearest integer, then in the low bits of the sum. */
#define F32_ROUNDER 0x1.8p23f

/* To the nearest whole number, half to even. F32_RINT: the machine's instruction for it. */
FUNCTION float f32_round(float x)
{
#ifdef F32_RINT
    return F32_RINT(x);
#else
    float a = f32_abs(x), r = (a + 0x1p23f) - 0x1p23f;
    return f32_copysign(a < 0x1p23f ? r : a, x);
#endif
}

/* ln 2 in two parts: products of the first with the 8 bits of an exponent are exact. */
#define F32_LN2_HIGH 0x1.62e4p-1f
#define F32_LN2_LOW  0x1.7f7d1cp-20f

/* exp(x) - 1 = r + r^2 P(r) for |r| <= ln(2) / 2; 2^-29 */
FUNCTION float f32_exp_kernel(float r)
{
    float p = 0x1.694c8ep-10f;
    p = f32_fma(p, r, 0x1.12397ep-7f);
    p = f32_fma(p, r, 0x1.555a26p-5f);
    p = f32_fma(p, r, 0x1.555492p-3f);
    p = f32_fma(p, r, 0x1.fffffap-2f);
    return f32_fma(r * r, p, r);
}

/* x = n ln 2 + r: exp(r), and the integer n + 254 in the low bits of *shifted. Infinity gives
 * infinity: n is bounded above and r then is not. */
FUNCTION float f32_exp_reduced(float x, int32_t *shifted)
{
    const float rounder = F32_ROUNDER + 254.0f;
    int32_t bits = (int32_t)f32_bits(f32_fma(x, 0x1.715476p0f, rounder)),
            max = (int32_t)f32_bits(rounder + 129.0f);
    *shifted = bits < max ? bits : max;
    float n = f32_of_bits((uint32_t)*shifted) - rounder;
    float r = f32_fma(n, -F32_LN2_LOW, f32_fma(n, -F32_LN2_HIGH, x));
    return 1.0f + f32_exp_kernel(r);
}

/* p * 2^n, with n + 254 in the low bits of `shifted`, as two products: the power of two may be
 * beyond the exponent's range. */
FUNCTION float f32_scale(float p, int32_t shifted)
{
    uint32_t sum = (uint32_t)shifted, first = sum >> 1;
    return p * f32_of_bits(first << 23) * f32_of_bits((sum - first) << 23);
}

/* Far below the smallest number n is -254 and the power of two exactly 0: one subnormal lane, or
 * one that rounds from there to 0, makes a product of the full vector several times slower on many
 * CPUs. */
#define F32_MIN_EXP (-176.2f)

FUNCTION float f32_exp(float x)
{
    int32_t shifted;
    float p = f32_exp_reduced(x < F32_MIN_EXP ? F32_MIN_EXP : x, &shifted);
    return f32_scale(p, shifted);
}

/* exp(x) / 2 for x >= 0, which overflows no earlier than its half */
FUNCTION float f32_half_exp(float x)
{
    int32_t shifted;
    float p = f32_exp_reduced(x, &shifted);
    return f32_scale(p, shifted - 1);
}

/* For -87 <= x <= 88 only: where a function takes one of two values, the one that is not taken must
 * not be subnormal either. */
FUNCTION float f32_exp_bounded(float x)
{
    float t = f32_fma(x, 0x1.715476p0f, F32_ROUNDER), n = t - F32_ROUNDER;
    float r = f32_fma(n, -F32_LN2_LOW, f32_fma(n, -F32_LN2_HIGH, x));
    return (1.0f + f32_exp_kernel(r)) * f32_of_bits((f32_bits(t) + 127u) << 23);
}

/* 2^k (1 + e) - 1 = 2 (2^(k-1) e + (2^(k-1) - 1/2)): the half keeps the power in range at the top.
 * P as in exp, one degree more; 2^-31 */
FUNCTION float f32_expm1(float x)
{
    float c = x > 89.0f ? 89.0f : x;
    c = c < -20.0f ? -20.0f : c;
    float t = f32_fma(c, 0x1.715476p0f, F32_ROUNDER), n = t - F32_ROUNDER;
    float r = f32_fma(n, -F32_LN2_LOW, f32_fma(n, -F32_LN2_HIGH, c));
    float p = 0x1.9e0bfp-13f;
    p = f32_fma(p, r, 0x1.6d4368p-10f);
    p = f32_fma(p, r, 0x1.111306p-7f);
    p = f32_fma(p, r, 0x1.5554fp-5f);
    p = f32_fma(p, r, 0x1.555554p-3f);
    p = f32_fma(p, r, 0.5f);
    float e = f32_fma(r * r, p, r);
    float s = f32_of_bits(((f32_bits(t) - f32_bits(F32_ROUNDER)) + 126u) << 23);
    float y = 2.0f * f32_fma(e, s, s - 0.5f);
    return f32_abs(x) < 0x1p-25f ? x : y;
}

/* log(1 + f) + exponent * ln 2 for f32_sqrt(1/2) <= 1 + f < f32_sqrt(2): f - f^2/2 + f^3 P(f); 2^-31 */
FUNCTION float f32_log_kernel(float f, float exponent)
{
    float p = 0x1.13ca2cp-4f, z = f * f;
    p = f32_fma(p, f, -0x1.dda796p-4f);
    p = f32_fma(p, f, 0x1.e6dfep-4f);
    p = f32_fma(p, f, -0x1.fc3c88p-4f);
    p = f32_fma(p, f, 0x1.233ab8p-3f);
    p = f32_fma(p, f, -0x1.555b92p-3f);
    p = f32_fma(p, f, 0x1.99a47ap-3f);
    p = f32_fma(p, f, -0x1.000008p-2f);
    p = f32_fma(p, f, 0x1.555548p-2f);
    float y = f32_fma(z * f, p, exponent * F32_LN2_LOW);
    y = f32_fma(z, -0.5f, y);
    return f32_fma(exponent, F32_LN2_HIGH, f + y);
}

/* x = 2^exponent * mantissa with the mantissa in [f32_sqrt(1/2), f32_sqrt(2)); x is normal and positive. */
FUNCTION float f32_split(float x, int32_t *exponent)
{
    uint32_t bits = f32_bits(x), above = bits - 0x3f3504f3u;
    *exponent = (int32_t)above >> 23;
    return f32_of_bits(bits - (above & 0xff800000u));
}

FUNCTION float f32_log(float x)
{
    int32_t exponent;
    float normal = x < 0x1p-126f ? x * 0x1p23f : x;
    float m = f32_split(normal, &exponent);
    float y = f32_log_kernel(m - 1.0f, (float)exponent - (x < 0x1p-126f ? 23.0f : 0.0f));
    y = x < 0.0f ? F32_NAN : y;
    y = x == 0.0f ? -F32_INFINITY : y;
    return x < F32_INFINITY ? y : x + x; /* infinity and NaN */
}

/* log(u) with u = 1 + x rounded; what the rounding lost is added to the mantissa. */
FUNCTION float f32_log1p(float x)
{
    int32_t exponent;
    float u = 1.0f + x, lost = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    float m = f32_split(u, &exponent);
    /* beyond 2^126 the lost bits are below the result's precision */
    uint32_t scale = exponent > 126 ? 0u : (uint32_t)(127 - exponent) << 23;
    float f = f32_fma(lost, f32_of_bits(scale), m - 1.0f);
    float y = f32_log_kernel(f, (float)exponent);
    y = f32_abs(x) < 0x1p-25f ? x : y;
    y = x < -1.0f ? F32_NAN : y;
    y = x == -1.0f ? -F32_INFINITY : y;
    return x < F32_INFINITY ? y : x + x;
}

#define F32_PIO2_HIGH 0x1.921fb6p0f
#define F32_PIO2_LOW  (-0x1.777a5cp-25f)

/* (asin(s) - s) / s as a function of s^2 <= 1/4; 2^-28 of asin */
FUNCTION float f32_asin_kernel(float z)
{
    float p = 0x1.5959aap-5f;
    p = f32_fma(p, z, 0x1.8c415ap-6f);
    p = f32_fma(p, z, 0x1.747b72p-5f);
    p = f32_fma(p, z, 0x1.330206p-4f);
    p = f32_fma(p, z, 0x1.5555c8p-3f);
    return p * z;
}

/* Beyond 1/2: asin(x) = pi/2 - 2 asin(f32_sqrt((1 - x) / 2)). */
FUNCTION float f32_asin(float x)
{
    float a = f32_abs(x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
    float s = a > 0.5f ? f32_sqrt(z) : a;
    float r = f32_fma(s, f32_asin_kernel(z), s);
    float y = a > 0.5f ? f32_fma(r, -2.0f, F32_PIO2_HIGH) + F32_PIO2_LOW : r;
    return f32_copysign(y, x);
}

FUNCTION float f32_acos(float x)
{
    float a = f32_abs(x), z = a > 0.5f ? 0.5f * (1.0f - a) : a * a;
    float s = a > 0.5f ? f32_sqrt(z) : x;
    float r = f32_fma(s, f32_asin_kernel(z), s);
    float outer = x > 0.0f ? 2.0f * r : 2.0f * (F32_PIO2_HIGH - (r - F32_PIO2_LOW));
    return a > 0.5f ? outer : F32_PIO2_HIGH - (r - F32_PIO2_LOW);
}

/* Beyond 1: atan(x) = pi/2 - atan(1 / x). 2^-29 on [0, 1] */
FUNCTION float f32_atan(float x)
{
    float a = f32_abs(x), t = a > 1.0f ? 1.0f / a : a, z = t * t;
    float p = -0x1.d5a1aap-10f;
    p = f32_fma(p, z, 0x1.6551e2p-7f);
    p = f32_fma(p, z, -0x1.fe7d24p-6f);
    p = f32_fma(p, z, 0x1.da9c2ep-5f);
    p = f32_fma(p, z, -0x1.5825f2p-4f);
    p = f32_fma(p, z, 0x1.c0946cp-4f);
    p = f32_fma(p, z, -0x1.24211ap-3f);
    p = f32_fma(p, z, 0x1.9991ecp-3f);
    p = f32_fma(p, z, -0x1.55553ep-2f);
    float r = f32_fma(t, p * z, t);
    float y = a > 1.0f ? F32_PIO2_HIGH - (r - F32_PIO2_LOW) : r;
    return f32_copysign(y, x);
}

/* Below 1 a polynomial (2^-32), above it h - 1/(4h) with h = exp(x) / 2, which overflows no earlier
 * than sinh does. */
FUNCTION float f32_sinh(float x)
{
    float a = f32_abs(x), z = a * a, h = f32_half_exp(a);
    float p = 0x1.76771ep-19f;
    p = f32_fma(p, z, 0x1.a01c22p-13f);
    p = f32_fma(p, z, 0x1.1110eap-7f);
    p = f32_fma(p, z, 0x1.555556p-3f);
    float y = a < 1.0f ? f32_fma(a, p * z, a) : h - 0.25f / h;
    return f32_copysign(y, x);
}

FUNCTION float f32_cosh(float x)
{
    float h = f32_half_exp(f32_abs(x));
    return h + 0.25f / h;
}

/* m / (m + 2) with m = exp(2|x|) - 1 = 2^n e + (2^n - 1), e = r + r^2 P(r) (2^-26 of e); from 10 on
 * the value rounds to 1. bench/fit_functions.py prints the coefficients. */
FUNCTION float f32_tanh(float x)
{
    float a = f32_abs(x), c = a > 10.0f ? 20.0f : a + a;
    float t = f32_fma(c, 0x1.715476p0f, F32_ROUNDER), n = t - F32_ROUNDER;
    float r = f32_fma(n, -F32_LN2_LOW, f32_fma(n, -F32_LN2_HIGH, c));
    float p = 0x1.6d7212p-10f;
    p = f32_fma(p, r, 0x1.12266ap-7f);
    p = f32_fma(p, r, 0x1.5554c8p-5f);
    p = f32_fma(p, r, 0x1.5554b2p-3f);
    p = f32_fma(p, r, 0.5f);
    float e = f32_fma(r * r, p, r), s = f32_of_bits((f32_bits(t) + 127u) << 23);
    float m = f32_fma(e, s, s - 1.0f);
    return f32_copysign(m / (m + 2.0f), x);
}

#define F32_LN2 0x1.62e43p-1f

/* asinh(x) = log1p(x + x^2 / (1 + f32_sqrt(1 + x^2))), and log(2x) where x^2 would overflow. */
FUNCTION float f32_asinh(float x)
{
    float a = f32_abs(x), z = a * a, near = f32_log1p(a + z / (1.0f + f32_sqrt(1.0f + z))),
          far = f32_log(a) + F32_LN2;
    return f32_copysign(a > 0x1p30f ? far : near, x);
}

FUNCTION float f32_acosh(float x)
{
    float t = x - 1.0f, near = f32_log1p(t + f32_sqrt(t * (t + 2.0f))),
          far = f32_log(x) + F32_LN2;
    float y = x > 0x1p30f ? far : near;
    return x < 1.0f ? F32_NAN : y;
}

FUNCTION float f32_atanh(float x)
{
    float a = f32_abs(x);
    return f32_copysign(0.5f * f32_log1p((a + a) / (1.0f - a)), x);
}

/* Below 0.92 x + x P(x^2) (2^-31), above it 1 - exp(-Q(x)) with Q near -log(erfc) (1 - erf within
 * 2^-29). From 3.95 on the value rounds to 1. */
FUNCTION float f32_erf(float x)
{
    float a = f32_abs(x), z = a * a, c = a > 3.95f ? 3.95f : a;
    float p = 0x1.5d6d2ap-14f, q = -0x1.b345bcp-20f;
    p = f32_fma(p, z, -0x1.aa51f4p-11f);
    p = f32_fma(p, z, 0x1.54c5dcp-8f);
    p = f32_fma(p, z, -0x1.b80db4p-6f);
    p = f32_fma(p, z, 0x1.ce2df2p-4f);
    p = f32_fma(p, z, -0x1.812742p-2f);
    p = f32_fma(p, z, 0x1.06eba8p-3f);
    q = f32_fma(q, c, 0x1.7f860cp-15f);
    q = f32_fma(q, c, -0x1.3744dap-11f);
    q = f32_fma(q, c, 0x1.36e41cp-8f);
    q = f32_fma(q, c, -0x1.b01774p-6f);
    q = f32_fma(q, c, 0x1.c2836cp-4f);
    q = f32_fma(q, c, 0x1.438c58p-1f);
    q = f32_fma(q, c, 0x1.2152b8p0f);
    q = f32_fma(q, c, -0x1.3dd0acp-12f);
    float y = a < 0.92f ? f32_fma(a, p, a) : 1.0f - f32_exp_bounded(-q);
    return f32_copysign(y, x);
}

/* 1 / (1 + exp(-x)), by exp(-|x|), so that small results keep their digits. */
FUNCTION float f32_sigmoid(float x)
{
    float e = f32_exp(-f32_abs(x));
    return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/* x sigmoid(x) = x p 2^n / (1 + p 2^n) for p 2^n = exp(-|x|); for positive x, without the first p
 * 2^n. The power of two comes last, after what would lose digits of a subnormal number; n is at
 * least -254, and the power of two then 0. */
FUNCTION float f32_gate(float x, float p, int32_t shifted)
{
    float e = f32_scale(p, shifted), quotient = (x < 0.0f ? x * p : x) / (1.0f + e);
    return f32_scale(quotient, x < 0.0f ? shifted : 254);
}

FUNCTION float f32_silu(float x)
{
    int32_t shifted;
    float a = f32_abs(x), min = -F32_MIN_EXP;
    float p = f32_exp_reduced(-(a > min ? min : a), &shifted);
    return f32_gate(x, p, shifted);
}

/* max(x, 0) + log(1 + e), e = exp(-|x|); log(1 + e) = 2 atanh(s) = 2s + s^3 P(s^2) for s = e / (2 +
 * e) <= 1/3; 2^-27 */
FUNCTION float f32_softplus(float x)
{
    float e = f32_exp(-f32_abs(x)), s = e / (2.0f + e), z = s * s;
    float p = 0x1.1efd6cp-2f;
    p = f32_fma(p, z, 0x1.1eb4d2p-2f);
    p = f32_fma(p, z, 0x1.99d294p-2f);
    p = f32_fma(p, z, 0x1.5555p-1f);
    return (x < 0.0f ? 0.0f : x) + f32_fma(s * z, p, s + s);
}

/* x tanh(log(1 + e)) = x e (e + 2) / (e (e + 2) + 2), e = p 2^n = exp(x); from 20 on the quotient
 * rounds to 1. The power of two comes last, as in silu. */
FUNCTION float f32_mish(float x)
{
    int32_t shifted;
    float c = x > 20.0f ? 20.0f : x;
    float p = f32_exp_reduced(c < F32_MIN_EXP ? F32_MIN_EXP : c, &shifted);
    float e = f32_scale(p, shifted);
    float quotient = p * (e + 2.0f) / (f32_fma(e, e, e + e) + 2.0f);
    return f32_scale(x * quotient, shifted);
}

/* x Phi(x) with Phi(-a) = exp(-a^2 / 2) R(a), R(a) = erfcx(a / sqrt 2) / 2 = P(a) / (f32_sqrt(2 pi) a
 * P(a) + S(a)) on [0, 14]; 2^-24. For large a errors of P cancel. The exponent is taken in two
 * parts, the first exact (W. J. Cody, "Rational Chebyshev Approximations for the Error Function",
 * 1969). At the bound of `a` the power of two is 0. */
FUNCTION float f32_gelu(float x)
{
    float a = f32_abs(x);
    a = a > 18.76f ? 18.76f : a;
    float p = 0x1.74d0bp-8f, s = 0x1.d2d5fap-7f;
    p = f32_fma(p, a, 0x1.9f43d2p-5f);
    p = f32_fma(p, a, 0x1.b278ecp-3f);
    p = f32_fma(p, a, 0x1.e72f84p-2f);
    p = f32_fma(p, a, 0.5f);
    s = f32_fma(s, a, 0x1.052f84p-3f);
    s = f32_fma(s, a, 0x1.fc036p-2f);
    s = f32_fma(s, a, 1.0f);
    s = f32_fma(p * a, 0x1.40d932p1f, s);
    const float rounder = F32_ROUNDER + 254.0f;
    float head = f32_of_bits(f32_bits(a) & 0xfffff000u);
    float square = -0.5f * head * head, rest = -0.5f * (a - head) * (a + head);
    float t = f32_fma(square, 0x1.715476p0f, rounder), n = t - rounder;
    rest = f32_fma(n, -F32_LN2_LOW, rest);
    float k = f32_exp_kernel(f32_fma(n, -F32_LN2_HIGH, square) + rest);
    float base = (x > 0.0f ? 1.0f : x) * (p / s);
    float tail = f32_scale(f32_fma(k, base, base), (int32_t)f32_bits(t));
    return x > 0.0f ? x * (1.0f - tail) : tail;
}

/* 2^f on [-1/2, 1/2]; 2^-27 */
FUNCTION float f32_exp2_kernel(float f)
{
    float p = 0x1.4447b8p-13f;
    p = f32_fma(p, f, 0x1.5f096p-10f);
    p = f32_fma(p, f, 0x1.3b2a28p-7f);
    p = f32_fma(p, f, 0x1.c6af7ap-5f);
    p = f32_fma(p, f, 0x1.ebfbep-3f);
    p = f32_fma(p, f, 0x1.62e43p-1f);
    return f32_fma(p, f, 1.0f);
}

/* GELU by tanh is x / (1 + 2^-t), t = x (GELU_LINE + GELU_CUBE x^2): 2 log2(e) sqrt(2 / pi),
 * and 0.044715 of it. */
#define GELU_LINE 2.302208198144325f
#define GELU_CUBE 0.10294323958002350f

/* x / (1 + 2^t): the relative error, below 1e-7 (1 + |t|), is that of a value below 1 in absolute
 * terms. The exponential overflows to infinity exactly at t = 128, so that minus infinity gives
 * NaN. */
FUNCTION float f32_near_gate(float x, float t)
{
    t = t < -126.0f ? -126.0f : t;
    t = t > 128.0f ? 128.0f : t;
    const float shifted = t + F32_ROUNDER;
    const float p = f32_exp2_kernel(t - (shifted - F32_ROUNDER));
    return x / (1.0f + f32_of_bits(f32_bits(p) + (f32_bits(shifted) << 23)));
}

FUNCTION float f32_near_silu(float x)
{
    return f32_near_gate(x, x * -0x1.715476p0f);
}

FUNCTION float f32_near_gelu_tanh(float x)
{
    return f32_near_gate(x, x * f32_fma(x * x, -GELU_CUBE, -GELU_LINE));
}

/* erf(x) = x P(x^2) / Q(x^2), 3e-7, is bounded by 1, which it passes where x^2 is 15. */
FUNCTION float f32_near_erf(float x)
{
    float z = x * x;
    z = z > 15.0f ? 15.0f : z;
    float p = 0x1.364ae2p-12f, q = 0x1.23ea9ep-16f;
    p = f32_fma(p, z, 0x1.0da204p-7f);
    p = f32_fma(p, z, 0x1.0f9302p-4f);
    p = f32_fma(p, z, 0x1.39d6c8p-2f);
    p = f32_fma(p, z, 0x1.20dd6cp0f);
    q = f32_fma(q, z, 0x1.102752p-9f);
    q = f32_fma(q, z, 0x1.8958bap-6f);
    q = f32_fma(q, z, 0x1.4899eap-3f);
    q = f32_fma(q, z, 0x1.35ba4ep-1f);
    q = f32_fma(q, z, 1.0f);
    float y = f32_abs(x) * p / q;
    return f32_copysign(y > 1.0f ? 1.0f : y, x);
}

/* x / 2 + |x| h, h = |Phi(x) - 1/2| in the same way: 1e-7, bounded by 1/2, which it passes where
 * x^2 is 29. Bounded as an integer h loses a NaN, which x still has. */
FUNCTION float f32_near_gelu(float x)
{
    float a = f32_abs(x), z = x * x;
    z = z > 29.0f ? 29.0f : z;
    float p = 0x1.a9e878p-18f, q = 0x1.1e03b4p-21f;
    p = f32_fma(p, z, 0x1.6e668p-12f);
    p = f32_fma(p, z, 0x1.797584p-8f);
    p = f32_fma(p, z, 0x1.b0e2eap-5f);
    p = f32_fma(p, z, 0x1.988442p-2f);
    q = f32_fma(q, z, 0x1.060c7ep-13f);
    q = f32_fma(q, z, 0x1.7df32cp-9f);
    q = f32_fma(q, z, 0x1.41f5b8p-5f);
    q = f32_fma(q, z, 0x1.324beap-2f);
    q = f32_fma(q, z, 1.0f);
    int32_t h = (int32_t)f32_bits(a * p / q), max = (int32_t)f32_bits(0.5f);
    return f32_fma(a, f32_of_bits((uint32_t)(h < max ? h : max)), 0.5f * x);
}
