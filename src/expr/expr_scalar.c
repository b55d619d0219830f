/* SPDX-License-Identifier: Apache-2.0 */
/* The language's functions on single values, in f64 and in integers: what they mean, as plainly as
 * it can be said. */
#include "expr/expr.h"

#include <math.h>

static double f64_min(double a, double b)
{
    return isnan(b) || b < a ? b : a;
}

static double f64_max(double a, double b)
{
    return isnan(b) || a < b ? b : a;
}

static double f64_mod(double a, double b)
{
    double r = fmod(a, b);
    if (r != 0 && (r < 0) != (b < 0)) {
        return r + b;
    }
    return r == 0 ? copysign(r, b) : r;
}

static double f64_sign(double a)
{
    return a > 0 ? 1 : a < 0 ? -1 : a;
}

static double f64_sigmoid(double a)
{
    return a >= 0 ? 1 / (1 + exp(-a)) : exp(a) / (1 + exp(a));
}

static double f64_softplus(double a)
{
    return (a < 0 ? 0 : a) + log1p(exp(-fabs(a)));
}

/* By erfc and by sigmoid: sums with 1 would lose the digits of small results. */
static double f64_gelu(double a)
{
    return 0.5 * a * erfc(a * -0.7071067811865476);
}

static double f64_gelu_tanh(double a)
{
    return a * f64_sigmoid(1.5957691216057308 * (a + 0.044715 * a * a * a));
}

double ry_expr_scalar_f64(ry_expr_code code, double a, double b, double c)
{
    switch (code) {
    case RY_EXPR_add: return a + b;
    case RY_EXPR_sub: return a - b;
    case RY_EXPR_mul: return a * b;
    case RY_EXPR_div: return a / b;
    case RY_EXPR_min: return f64_min(a, b);
    case RY_EXPR_max: return f64_max(a, b);
    case RY_EXPR_pow: return pow(a, b);
    case RY_EXPR_mod: return f64_mod(a, b);
    case RY_EXPR_fmod: return fmod(a, b);
    case RY_EXPR_neg: return -a;
    case RY_EXPR_abs: return fabs(a);
    case RY_EXPR_sign: return f64_sign(a);
    case RY_EXPR_eq: return a == b;
    case RY_EXPR_ne: return a != b;
    case RY_EXPR_lt: return a < b;
    case RY_EXPR_le: return a <= b;
    case RY_EXPR_gt: return a > b;
    case RY_EXPR_ge: return a >= b;
    case RY_EXPR_isnan: return isnan(a);
    case RY_EXPR_isinf: return isinf(a) != 0;
    case RY_EXPR_and: return a != 0 && b != 0;
    case RY_EXPR_or: return a != 0 || b != 0;
    case RY_EXPR_xor: return (a != 0) != (b != 0);
    case RY_EXPR_not: return a == 0;
    case RY_EXPR_select: return a != 0 ? b : c;
    case RY_EXPR_floor: return floor(a);
    case RY_EXPR_ceil: return ceil(a);
    case RY_EXPR_round: return nearbyint(a);
    case RY_EXPR_sqrt: return sqrt(a);
    case RY_EXPR_reciprocal: return 1 / a;
    case RY_EXPR_exp: return exp(a);
    case RY_EXPR_log: return log(a);
    case RY_EXPR_log1p: return log1p(a);
    case RY_EXPR_expm1: return expm1(a);
    case RY_EXPR_sin: return sin(a);
    case RY_EXPR_cos: return cos(a);
    case RY_EXPR_tan: return tan(a);
    case RY_EXPR_asin: return asin(a);
    case RY_EXPR_acos: return acos(a);
    case RY_EXPR_atan: return atan(a);
    case RY_EXPR_sinh: return sinh(a);
    case RY_EXPR_cosh: return cosh(a);
    case RY_EXPR_tanh: return tanh(a);
    case RY_EXPR_asinh: return asinh(a);
    case RY_EXPR_acosh: return acosh(a);
    case RY_EXPR_atanh: return atanh(a);
    case RY_EXPR_erf: return erf(a);
    case RY_EXPR_sigmoid: return f64_sigmoid(a);
    case RY_EXPR_silu: return a * f64_sigmoid(a);
    case RY_EXPR_softplus: return f64_softplus(a);
    case RY_EXPR_mish: return a * tanh(f64_softplus(a));
    case RY_EXPR_gelu: return f64_gelu(a);
    case RY_EXPR_gelu_tanh: return f64_gelu_tanh(a);
    default: return NAN;
    }
}

bool ry_expr_same_number(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && !signbit(a) == !signbit(b);
}

int64_t ry_expr_wrap(ry_dtype dtype, int64_t value)
{
    switch (dtype) {
    case RY_i8: return (int8_t)(uint8_t)value;
    case RY_i16: return (int16_t)(uint16_t)value;
    case RY_i32: return (int32_t)(uint32_t)value;
    case RY_u8: return (uint8_t)value;
    case RY_u16: return (uint16_t)value;
    case RY_u32: return (uint32_t)value;
    case RY_bool: return value != 0;
    default: return value;
    }
}

int64_t ry_expr_to_int(ry_dtype dtype, double value, bool round)
{
    if (dtype == RY_bool) {
        return value != 0;
    }
    if (isnan(value)) {
        return 0;
    }
    int bits = 8 * (int)ry_dtype_size(dtype);
    bool is_signed = ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
    double whole = round ? nearbyint(value) : trunc(value);
    double low = is_signed ? -ldexp(1, bits - 1) : 0;
    /* the largest value plus one: exact in f64, which the value itself may not be */
    double beyond = ldexp(1, is_signed ? bits - 1 : bits);
    if (whole >= beyond) {
        return is_signed ? (int64_t)(((uint64_t)1 << (bits - 1)) - 1)
                         : (int64_t)(UINT64_MAX >> (64 - bits));
    }
    if (whole <= low) {
        return is_signed ? ry_expr_wrap(dtype, (int64_t)((uint64_t)1 << (bits - 1))) : 0;
    }
    return is_signed ? (int64_t)whole : (int64_t)(uint64_t)whole;
}

static int64_t power(int64_t base, int64_t exponent, bool is_signed)
{
    if (is_signed && exponent < 0) {
        return base == 1 ? 1 : base == -1 ? (exponent & 1 ? -1 : 1) : 0;
    }
    uint64_t result = 1, square = (uint64_t)base;
    for (uint64_t left = (uint64_t)exponent; left; left >>= 1) {
        result *= left & 1 ? square : 1;
        square *= square;
    }
    return (int64_t)result;
}

/* Quotient and remainder as C has them; by zero both are 0, and the most negative number by -1
 * wraps. */
static int64_t divide(int64_t a, int64_t b, bool is_signed, int64_t *remainder)
{
    *remainder = 0;
    if (b == 0) {
        return 0;
    }
    if (is_signed && b == -1) {
        return (int64_t)(0 - (uint64_t)a);
    }
    if (is_signed) {
        *remainder = a % b;
        return a / b;
    }
    *remainder = (int64_t)((uint64_t)a % (uint64_t)b);
    return (int64_t)((uint64_t)a / (uint64_t)b);
}

static int64_t integer(ry_expr_code code, int bits, bool is_signed, int64_t a, int64_t b)
{
    bool less = is_signed ? a < b : (uint64_t)a < (uint64_t)b;
    int64_t remainder, quotient = divide(a, b, is_signed, &remainder);
    bool shifts = (uint64_t)b < (uint64_t)bits;
    switch (code) {
    case RY_EXPR_add: return (int64_t)((uint64_t)a + (uint64_t)b);
    case RY_EXPR_sub: return (int64_t)((uint64_t)a - (uint64_t)b);
    case RY_EXPR_mul: return (int64_t)((uint64_t)a * (uint64_t)b);
    case RY_EXPR_div: return quotient;
    case RY_EXPR_fmod: return remainder;
    case RY_EXPR_mod:
        return is_signed && remainder != 0 && (remainder < 0) != (b < 0) ? remainder + b
                                                                         : remainder;
    case RY_EXPR_pow: return power(a, b, is_signed);
    case RY_EXPR_min: return less ? a : b;
    case RY_EXPR_max: return less ? b : a;
    case RY_EXPR_neg: return (int64_t)(0 - (uint64_t)a);
    case RY_EXPR_abs: return is_signed && a < 0 ? (int64_t)(0 - (uint64_t)a) : a;
    case RY_EXPR_sign: return a == 0 ? 0 : is_signed && a < 0 ? -1 : 1;
    case RY_EXPR_bit_and: return a & b;
    case RY_EXPR_bit_or: return a | b;
    case RY_EXPR_bit_xor: return a ^ b;
    case RY_EXPR_bit_not: return ~a;
    case RY_EXPR_shift_left: return shifts ? (int64_t)((uint64_t)a << b) : 0;
    case RY_EXPR_shift_right:
        return shifts ? (is_signed ? a >> b : (int64_t)((uint64_t)a >> b))
                      : (is_signed && a < 0 ? -1 : 0);
    case RY_EXPR_eq: return a == b;
    case RY_EXPR_ne: return a != b;
    case RY_EXPR_lt: return less;
    case RY_EXPR_le: return less || a == b;
    case RY_EXPR_gt: return !less && a != b;
    case RY_EXPR_ge: return !less;
    default: return 0;
    }
}

int64_t ry_expr_scalar_int(ry_expr_code code, ry_dtype dtype, int64_t a, int64_t b)
{
    bool is_signed = ry_dtype_get_kind(dtype) == RY_KIND_SIGNED;
    int64_t result = integer(code, 8 * (int)ry_dtype_size(dtype), is_signed, a, b);
    return ry_expr_code_class(code) == RY_EXPR_CLASS_BOOL ? result : ry_expr_wrap(dtype, result);
}
