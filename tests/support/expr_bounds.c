/* SPDX-License-Identifier: Apache-2.0 */
/* How wrong the expression language's functions may be. */
#include "expr_bounds.h"

#include <float.h>
#include <math.h>
#include <string.h>

float expr_float_of_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

double expr_ulps(double got, double truth, int digits, int min_exponent, double largest)
{
    int exponent;
    if (isnan(truth) || isnan(got)) {
        return isnan(truth) && isnan(got) ? 0 : INFINITY;
    }
    frexp(truth, &exponent);
    double unit = ldexp(1, (exponent < min_exponent ? min_exponent : exponent) - digits),
           end = largest + ldexp(largest, -digits);
    if (isinf(got) || isinf(truth)) {
        return got == truth || (fabs(truth) >= end && isinf(got) && (got > 0) == (truth > 0)) ? 0
               : fabs(truth) >= largest - 2 * unit                                            ? 1
                                                   : INFINITY;
    }
    if (truth == 0) {
        return got == 0 && !signbit(got) == !signbit(truth) ? 0 : INFINITY;
    }
    return got == 0 && !signbit(got) != !signbit(truth) ? INFINITY : fabs(got - truth) / unit;
}

double expr_ulps_f32(double got, double truth)
{
    return expr_ulps(got, truth, FLT_MANT_DIG, FLT_MIN_EXP, (double)FLT_MAX);
}

const expr_function expr_functions[EXPR_FUNCTIONS] = {
    {"exp(x0)", RY_EXPR_exp, 1.1},
    {"log(x0)", RY_EXPR_log, 1.0},
    {"log1p(x0)", RY_EXPR_log1p, 1.5},
    {"expm1(x0)", RY_EXPR_expm1, 1.5},
    {"sin(x0)", RY_EXPR_sin, 0.51},
    {"cos(x0)", RY_EXPR_cos, 0.51},
    {"tan(x0)", RY_EXPR_tan, 0.51},
    {"asin(x0)", RY_EXPR_asin, 2.0},
    {"acos(x0)", RY_EXPR_acos, 1.5},
    {"atan(x0)", RY_EXPR_atan, 1.5},
    {"sinh(x0)", RY_EXPR_sinh, 1.7},
    {"cosh(x0)", RY_EXPR_cosh, 1.5},
    {"tanh(x0)", RY_EXPR_tanh, 2.5},
    {"asinh(x0)", RY_EXPR_asinh, 2.0},
    {"acosh(x0)", RY_EXPR_acosh, 2.2},
    {"atanh(x0)", RY_EXPR_atanh, 2.2},
    {"erf(x0)", RY_EXPR_erf, 1.3},
    {"sigmoid(x0)", RY_EXPR_sigmoid, 2.5},
    {"silu(x0)", RY_EXPR_silu, 3.5},
    {"softplus(x0)", RY_EXPR_softplus, 3.0},
    {"mish(x0)", RY_EXPR_mish, 4.5},
    {"gelu(x0)", RY_EXPR_gelu, 5.0},
    {"gelu_tanh(x0)", RY_EXPR_gelu_tanh, 3.5},
    {"sqrt(x0)", RY_EXPR_sqrt, 0.5},
    {"reciprocal(x0)", RY_EXPR_reciprocal, 0.5},
    {"floor(x0)", RY_EXPR_floor, 0},
    {"ceil(x0)", RY_EXPR_ceil, 0},
    {"round(x0)", RY_EXPR_round, 0},
    {"abs(x0)", RY_EXPR_abs, 0},
    {"-x0", RY_EXPR_neg, 0},
    {"sign(x0)", RY_EXPR_sign, 0},
};

const float expr_specials[EXPR_SPECIALS] = {
    0.0f,
    -0.0f,
    1.0f,
    -1.0f,
    0.5f,
    -0.5f,
    1.5f,
    2.5f,
    -2.5f,
    (float)INFINITY,
    -(float)INFINITY,
    (float)NAN,
    1e-45f,
    -1e-45f,
    FLT_MIN,
    -FLT_MIN,
    FLT_MAX,
    -FLT_MAX,
    88.7228f,
    88.73f,
    89.4f,
    -87.3f,
    -88.0f,
    -103.9f,
    -104.0f,
    1e30f,
    -1e30f,
    0x1p28f,
    0x1.2p28f,
    3e9f,
    8388607.5f,
    8388608.0f,
    16777216.0f,
    0.99999994f,
    -0.99999994f,
    1.0000001f,
};
