/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language's functions on a GPU, for programs and for activations behind sums
 * (expr_text.h): names begin with the type (f32_erf, i8_mod). USES_ELEMENTARY: common/elementary.cl
 * precedes this text. USES_f64: the program has doubles. sin, cos, tan and pow are the device's. */

/* The nearest number of the 16-bit types. */
FUNCTION float f16_nearest(float x)
{
    const float a = fabs(x);
    const uint bits = f32_bits(a);
    const float normal = f32_of_bits((bits + 0xfffu + (bits >> 13 & 1u)) & 0xffffe000u);
    const float small = rint(a * 0x1p24f) * 0x1p-24f;
    const float y = a < 0x1p-14f ? small : a < 65520.0f ? normal : F32_INFINITY;
    return a == a ? copysign(y, x) : x;
}

FUNCTION float bf16_nearest(float x)
{
    const uint bits = f32_bits(x);
    return x == x ? f32_of_bits((bits + 0x7fffu + (bits >> 16 & 1u)) & 0xffff0000u) : x;
}

/* ---- any float ---- */

#define FLOAT_FUNCTIONS(T, N)                                            \
    FUNCTION T N##_min(T a, T b)                                         \
    {                                                                    \
        return b != b || b < a ? b : a;                                  \
    }                                                                    \
    FUNCTION T N##_max(T a, T b)                                         \
    {                                                                    \
        return b != b || a < b ? b : a;                                  \
    }                                                                    \
    FUNCTION T N##_mod(T a, T b)                                         \
    {                                                                    \
        const T r = fmod(a, b);                                          \
        return r == 0 ? copysign(r, b) : (r < 0) != (b < 0) ? r + b : r; \
    }                                                                    \
    FUNCTION T N##_sign(T a)                                             \
    {                                                                    \
        return a > 0 ? (T)1 : a < 0 ? (T)-1 : a;                         \
    }

FLOAT_FUNCTIONS(float, f32)

/* ---- integers: W is T's unsigned arithmetic ---- */

#define INTEGER_FUNCTIONS(T, W, N)                 \
    FUNCTION T N##_multiplied(T base, ulong times) \
    {                                              \
        W result = 1, square = (W)base;            \
        for (; times; times >>= 1) {               \
            result *= times & 1 ? square : (W)1;   \
            square *= square;                      \
        }                                          \
        return (T)result;                          \
    }

/* The most negative number by -1 wraps. */
#define SIGNED_FUNCTIONS(T, W, N)                                       \
    INTEGER_FUNCTIONS(T, W, N)                                          \
    FUNCTION T N##_div(T a, T b)                                        \
    {                                                                   \
        return b == 0 ? (T)0 : b == -1 ? (T)((W)0 - (W)a) : (T)(a / b); \
    }                                                                   \
    FUNCTION T N##_fmod(T a, T b)                                       \
    {                                                                   \
        return b == 0 || b == -1 ? (T)0 : (T)(a % b);                   \
    }                                                                   \
    FUNCTION T N##_mod(T a, T b)                                        \
    {                                                                   \
        const T r = N##_fmod(a, b);                                     \
        return r != 0 && (r < 0) != (b < 0) ? (T)(r + b) : r;           \
    }                                                                   \
    FUNCTION T N##_pow(T a, T b)                                        \
    {                                                                   \
        return b >= 0    ? N##_multiplied(a, (ulong)b)                  \
               : a == 1  ? (T)1                                         \
               : a == -1 ? (T)(b & 1 ? -1 : 1)                          \
                         : (T)0;                                        \
    }

#define UNSIGNED_FUNCTIONS(T, W, N)        \
    INTEGER_FUNCTIONS(T, W, N)             \
    FUNCTION T N##_div(T a, T b)           \
    {                                      \
        return b == 0 ? (T)0 : (T)(a / b); \
    }                                      \
    FUNCTION T N##_fmod(T a, T b)          \
    {                                      \
        return b == 0 ? (T)0 : (T)(a % b); \
    }                                      \
    FUNCTION T N##_mod(T a, T b)           \
    {                                      \
        return N##_fmod(a, b);             \
    }                                      \
    FUNCTION T N##_pow(T a, T b)           \
    {                                      \
        return N##_multiplied(a, b);       \
    }

/* ---- f32, behind common/elementary.cl ---- */

#ifdef USES_ELEMENTARY

#define GELU_LINE_LOW 0x1.bce75ap-27f
#define GELU_CUBE_LOW (-0x1.151aacp-29f)

/* The exponent in two parts, since its error would be multiplied by its size. */
FUNCTION float f32_gelu_tanh(float x)
{
    const float a = fabs(x) > 16.0f ? 16.0f : fabs(x), z = a * a, z_low = fma(a, a, -z);
    const float cube = z * GELU_CUBE, sum = cube + GELU_LINE;
    const float larger = cube > GELU_LINE ? cube : GELU_LINE,
                smaller = cube > GELU_LINE ? GELU_LINE : cube;
    const float low = smaller - (sum - larger) + fma(z, GELU_CUBE, -cube) +
                      fma(z, GELU_CUBE_LOW, fma(z_low, GELU_CUBE, GELU_LINE_LOW));
    const float t = -a * sum, t_low = -(fma(a, sum, t) + a * low);
    const float bounded = t < -254.0f ? -254.0f : t, rounder = F32_ROUNDER + 254.0f;
    const float shifted = bounded + rounder, f = bounded - (shifted - rounder);
    return f32_gate(x, f32_exp2_kernel(t < -254.0f ? 0.0f : f + t_low), (int)f32_bits(shifted));
}

#endif

/* ---- f64: the device's functions, and what is made of them ---- */

#ifdef USES_f64
FLOAT_FUNCTIONS(double, f64)

FUNCTION double f64_sigmoid(double a)
{
    const double e = exp(-fabs(a));
    return (a < 0 ? e : 1.0) / (1.0 + e);
}

FUNCTION double f64_silu(double a)
{
    return a * f64_sigmoid(a);
}

FUNCTION double f64_softplus(double a)
{
    return (a < 0 ? 0.0 : a) + log1p(exp(-fabs(a)));
}

FUNCTION double f64_mish(double a)
{
    return a * tanh(f64_softplus(a));
}

FUNCTION double f64_gelu(double a)
{
    return 0.5 * a * erfc(a * -0.7071067811865476);
}

FUNCTION double f64_gelu_tanh(double a)
{
    return a * f64_sigmoid(1.5957691216057308 * (a + 0.044715 * a * a * a));
}
#endif
