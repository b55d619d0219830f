/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over rows of floats. */
#include "kernels/cpu/conv/activation.h"

#include <math.h>

#define EACH(expression)              \
    for (int64_t i = 0; i < n; i++) { \
        const float x = row[i];       \
        row[i] = (expression);        \
    }                                 \
    break

void RY_ISA_SYMBOL(ry_activate)(ry_activation_of activation, float *row, int64_t n)
{
    const float a = activation.alpha, b = activation.beta;
    switch (activation.kind) {
    case RY_activation_relu: EACH(x < 0 ? 0 : x);
    case RY_activation_leaky_relu: EACH(x < 0 ? x * a : x);
    case RY_activation_clip: EACH((x < a ? a : x) > b ? b : (x < a ? a : x));
    case RY_activation_sigmoid: EACH(1 / (1 + expf(-x)));
    case RY_activation_tanh: EACH(tanhf(x));
    case RY_activation_silu: EACH(x / (1 + expf(-x)));
    case RY_activation_hard_sigmoid: EACH(x * a + b < 0 ? 0 : x * a + b > 1 ? 1 : x * a + b);
    case RY_activation_hard_swish: EACH(x * (x * a + b < 0 ? 0 : x * a + b > 1 ? 1 : x * a + b));
    case RY_activation_gelu: EACH(0.5f * x * (1 + erff(x * 0.70710678f)));
    case RY_activation_none:
    case RY_activation_count: break;
    }
}
