/* SPDX-License-Identifier: Apache-2.0 */
/* Activations of one number. */
#include "kernels/common/activation_scalar.h"

#include "expr/expr.h"

#include <math.h>

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

/* A NaN passes through, as it does in numpy's and ONNX's. */
static double clip(double x, double low, double high)
{
    double raised = x < low ? low : x;
    return raised > high ? high : raised;
}

static double activation_none(double x, double a, double b)
{
    (void)a, (void)b;
    return x;
}

static double activation_relu(double x, double a, double b)
{
    (void)a, (void)b;
    return x < 0 ? 0 : x;
}

static double activation_leaky_relu(double x, double a, double b)
{
    (void)b;
    return x < 0 ? x * a : x;
}

static double activation_clip(double x, double a, double b)
{
    return clip(x, a, b);
}

static double activation_sigmoid(double x, double a, double b)
{
    (void)a, (void)b;
    return sigmoid(x);
}

static double activation_tanh(double x, double a, double b)
{
    (void)a, (void)b;
    return tanh(x);
}

static double activation_silu(double x, double a, double b)
{
    (void)a, (void)b;
    return x * sigmoid(x);
}

static double activation_hard_sigmoid(double x, double a, double b)
{
    return clip(x * a + b, 0, 1);
}

static double activation_hard_swish(double x, double a, double b)
{
    return x * clip(x * a + b, 0, 1);
}

static double activation_gelu(double x, double a, double b)
{
    (void)a, (void)b;
    return ry_expr_scalar_f64(RY_EXPR_gelu, x, 0, 0);
}

static double activation_gelu_tanh(double x, double a, double b)
{
    (void)a, (void)b;
    return ry_expr_scalar_f64(RY_EXPR_gelu_tanh, x, 0, 0);
}

static double activation_mish(double x, double a, double b)
{
    (void)a, (void)b;
    return ry_expr_scalar_f64(RY_EXPR_mish, x, 0, 0);
}

static double (*const activations[RY_activation_count])(double x, double a, double b) = {
#define RY_ACTIVATION(name, text) [RY_activation_##name] = activation_##name,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

double ry_activation_scalar(ry_activation activation, double a, double b, double x)
{
    return activations[activation](x, a, b);
}
