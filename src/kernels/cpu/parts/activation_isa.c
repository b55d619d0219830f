/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over rows of floats. What comes in is a rounded sum: the error of the functions
 * f32_near_*, some 1e-7 of it at most, is no larger than what its own rounding makes, so that
 * they serve every accuracy class. */
#include "kernels/cpu/parts/activation.h"

#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/simd/vector_math.h"

static inline float bounded(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* The full vectors of n floats. */
typedef void (*activate_function)(float *row, int64_t n, float a, float b);

#define FORM(name, expression)                                           \
    static void activate_##name(float *row, int64_t n, float a, float b) \
    {                                                                    \
        (void)a, (void)b;                                                \
        for (int64_t i = 0; i < (n & -RY_W); i++) {                      \
            const float x = row[i];                                      \
            row[i] = (expression);                                       \
        }                                                                \
    }
FORM(none, x)
FORM(relu, x < 0 ? 0 : x)
FORM(leaky_relu, x < 0 ? x * a : x)
FORM(clip, bounded(x, a, b))
FORM(sigmoid, f32_sigmoid(x))
FORM(tanh, f32_tanh(x))
FORM(silu, f32_near_silu(x))
FORM(hard_sigmoid, bounded(x *a + b, 0, 1))
FORM(hard_swish, x *bounded(x *a + b, 0, 1))
FORM(gelu, f32_near_gelu(x))
FORM(gelu_tanh, f32_near_gelu_tanh(x))
FORM(mish, f32_mish(x))

static const activate_function forms[] = {
#define RY_ACTIVATION(name, expression) [RY_activation_##name] = activate_##name,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

/* The rest of a row goes through a vector of its own: one float after the other, it would take
 * longer than many vectors. */
void RY_ISA_SYMBOL(activate_rows)(ry_activation_of activation, float *row, int64_t step,
                                  int64_t rows, int64_t n)
{
    if (step == n) {
        n *= rows;
        rows = 1;
    }
    const activate_function form = forms[activation.kind];
    const int64_t full = n & -RY_W;
    const ry_vm some = ry_vm_first(n - full);
    for (int64_t i = 0; i < rows && activation.kind != RY_activation_none; i++, row += step) {
        form(row, full, activation.alpha, activation.beta);
        if (full < n) {
            float last[RY_W];
            ry_vf_store(last, ry_vf_load_m(row + full, some));
            form(last, RY_W, activation.alpha, activation.beta);
            ry_vf_store_m(row + full, some, ry_vf_load(last));
        }
    }
}

void RY_ISA_SYMBOL(activate)(ry_activation_of activation, float *row, int64_t n)
{
    RY_ISA_SYMBOL(activate_rows)(activation, row, n, 1, n);
}
