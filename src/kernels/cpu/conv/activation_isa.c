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

void RY_ISA_SYMBOL(ry_activate)(ry_activation_of activation, float *row, int64_t n)
{
    const float a = activation.alpha, b = activation.beta;
    switch (activation.kind) {
    case RY_activation_relu: EACH(x < 0 ? 0 : x);
    case RY_activation_leaky_relu: EACH(x < 0 ? x * a : x);
    case RY_activation_clip: EACH(bounded(x, a, b));
    case RY_activation_sigmoid: EACH(ry_f32_sigmoid(x));
    case RY_activation_tanh: EACH(ry_f32_tanh(x));
    case RY_activation_silu: EACH(x * ry_f32_sigmoid(x));
    case RY_activation_hard_sigmoid: EACH(bounded(x * a + b, 0, 1));
    case RY_activation_hard_swish: EACH(x * bounded(x * a + b, 0, 1));
    case RY_activation_gelu: EACH(0.5f * x * (1 + ry_f32_erf(x * 0.70710678f)));
    case RY_activation_none:
    case RY_activation_count: break;
    }
}
