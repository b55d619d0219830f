/* SPDX-License-Identifier: Apache-2.0 */
/* Activations over rows of floats. */
#include "kernels/cpu/conv/activation.h"

#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/common/vector_math.h"

static inline float bounded(float x, float low, float high)
{
    x = x < low ? low : x;
    return x > high ? high : x;
}

/* x / (1 + 2^t), t = -x log2(e) rounded once: the relative error, below 1e-7 (1 + |x|), is that of a value below 1 in absolute terms. The
 * exponential overflows to infinity exactly at t = 128, so that -infinity gives NaN as x * sigmoid(x) does. 2^f on [-1/2, 1/2] is a minimax
 * polynomial with 1 for f = 0; 2^-27. */
static inline float silu(float x)
{
    float t = x * -0x1.715476p0f;
    t = t < -126.0f ? -126.0f : t;
    t = t > 128.0f ? 128.0f : t;
    const float shifted = t + RY_F32_ROUNDER, f = t - (shifted - RY_F32_ROUNDER);
    float p = 0x1.3eb2ap-13f;
    p = ry_f32_fma(p, f, 0x1.5f0b86p-10f);
    p = ry_f32_fma(p, f, 0x1.3b320ap-7f);
    p = ry_f32_fma(p, f, 0x1.c6af76p-5f);
    p = ry_f32_fma(p, f, 0x1.ebfbd6p-3f);
    p = ry_f32_fma(p, f, 0x1.62e43p-1f);
    p = ry_f32_fma(p, f, 1.0f);
    return x / (1.0f + ry_f32_of_bits(ry_f32_bits(p) + (ry_f32_bits(shifted) << 23)));
}

/* The whole vectors of n floats. */
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
FORM(sigmoid, ry_f32_sigmoid(x))
FORM(tanh, ry_f32_tanh(x))
FORM(silu, silu(x))
FORM(hard_sigmoid, bounded(x *a + b, 0, 1))
FORM(hard_swish, x *bounded(x *a + b, 0, 1))
FORM(gelu, 0.5f * x * (1 + ry_f32_erf(x * 0.70710678f)))

static const activate_function forms[] = {
#define RY_ACTIVATION(name, expression) [RY_activation_##name] = activate_##name,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

/* The rest of a row goes through a vector of its own: one float after the other, it would take longer than many vectors. */
void RY_ISA_SYMBOL(ry_activate_rows)(ry_activation_of activation, float *row, int64_t step, int64_t rows, int64_t n)
{
    if (step == n) {
        n *= rows;
        rows = 1;
    }
    const activate_function form = forms[activation.kind];
    const int64_t whole = n & -RY_W;
    const ry_vm some = ry_vm_first(n - whole);
    for (int64_t i = 0; i < rows && activation.kind != RY_activation_none; i++, row += step) {
        form(row, whole, activation.alpha, activation.beta);
        if (whole < n) {
            float last[RY_W];
            ry_vf_store(last, ry_vf_load_m(row + whole, some));
            form(last, RY_W, activation.alpha, activation.beta);
            ry_vf_store_m(row + whole, some, ry_vf_load(last));
        }
    }
}

void RY_ISA_SYMBOL(ry_activate)(ry_activation_of activation, float *row, int64_t n)
{
    RY_ISA_SYMBOL(ry_activate_rows)(activation, row, n, 1, n);
}
