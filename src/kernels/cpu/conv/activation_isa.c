/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over rows of floats. */
#include "kernels/cpu/conv/activation.h"

#include "kernels/cpu/common/vector_math.h"

/* clang-format off */
#define EACH(expression)                  \
    for (int64_t i = 0; i < n; i++) {     \
        const float x = row[i];           \
        row[i] = (expression);            \
    }                                     \
    break
/* clang-format on */

static inline float bounded(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* x / (1 + 2^t), t = -x log2(e) rounded once: the relative error, below 1e-7 (1 + |x|), is that of a value below 1 in absolute terms. The
 * exponential overflows to infinity exactly at t = 128, so that -infinity gives NaN as x * sigmoid(x) does. 2^f on [-1/2, 1/2] is its Taylor
 * polynomial in f ln 2, whose first missing term is below 6e-9. */
static inline float silu(float x)
{
    float t = x * -0x1.715476p0f;
    t = t < -126.0f ? -126.0f : t;
    t = t > 128.0f ? 128.0f : t;
    const float shifted = t + RY_F32_ROUNDER, f = (t - (shifted - RY_F32_ROUNDER)) * 0x1.62e43p-1f;
    float p = 0x1.a01a02p-13f;
    p = ry_f32_fma(p, f, 0x1.6c16c2p-10f);
    p = ry_f32_fma(p, f, 0x1.111112p-7f);
    p = ry_f32_fma(p, f, 0x1.555556p-5f);
    p = ry_f32_fma(p, f, 0x1.555556p-3f);
    p = ry_f32_fma(p, f, 0.5f);
    p = ry_f32_fma(p, f, 1.0f);
    p = ry_f32_fma(p, f, 1.0f);
    return x / (1.0f + ry_f32_of_bits(ry_f32_bits(p) + (ry_f32_bits(shifted) << 23)));
}

void RY_ISA_SYMBOL(ry_activate)(ry_activation_of activation, float *row, int64_t n)
{
    const float a = activation.alpha, b = activation.beta;
    switch (activation.kind) {
    case RY_activation_relu: EACH(x < 0 ? 0 : x);
    case RY_activation_leaky_relu: EACH(x < 0 ? x * a : x);
    case RY_activation_clip: EACH(bounded(x, a, b));
    case RY_activation_sigmoid: EACH(ry_f32_sigmoid(x));
    case RY_activation_tanh: EACH(ry_f32_tanh(x));
    case RY_activation_silu: EACH(silu(x));
    case RY_activation_hard_sigmoid: EACH(bounded(x * a + b, 0, 1));
    case RY_activation_hard_swish: EACH(x * bounded(x * a + b, 0, 1));
    case RY_activation_gelu: EACH(0.5f * x * (1 + ry_f32_erf(x * 0.70710678f)));
    case RY_activation_none:
    case RY_activation_count: break;
    }
}
