/* SPDX-License-Identifier: Apache-2.0 */
/* Prints casts: numbers that a type has no room for become its bounds. */
#include "kernels/gpu/expr_spell.h"

#include <math.h>
#include <stdio.h>

static double nearest(ry_dtype dtype, double value)
{
    switch (dtype) {
    case RY_f64: return value;
    case RY_f16: return (double)ry_f16_to_f32(ry_f32_to_f16((float)value));
    case RY_bf16: return (double)ry_bf16_to_f32(ry_f32_to_bf16((float)value));
    default: return (double)(float)value;
    }
}

/* Casts a constant of the program, which keeps all its digits up to this cast. */
static void put_number_cast(ry_text *text, const ry_expr_instruction *in, double value)
{
    char literal[RY_GPU_LITERAL];
    if (ry_dtype_is_float(in->dtype)) {
        ry_gpu_number_literal(in->dtype, nearest(in->dtype, value), literal);
    } else {
        ry_gpu_integer_literal(
            in->dtype, ry_expr_to_int(in->dtype, value, in->code == RY_EXPR_saturate), literal);
    }
    ry_text_add(text, "%s", literal);
}

static void put_float_cast(ry_text *text, ry_dtype to, const char *a)
{
    switch (to) {
    case RY_f16: ry_text_add(text, "f16_nearest((float)%s)", a); break;
    case RY_bf16: ry_text_add(text, "bf16_nearest((float)%s)", a); break;
    default: ry_text_add(text, "(%s)%s", ry_gpu_register_type(to), a); break;
    }
}

/* The bounds are exact in f32: powers of two. */
static void put_bounded_cast(ry_text *text, ry_dtype from, ry_dtype to, bool round, const char *a)
{
    const int bits = 8 * (int)ry_dtype_size(to);
    const bool is_signed = ry_dtype_get_kind(to) == RY_KIND_SIGNED;
    char low[RY_GPU_LITERAL], high[RY_GPU_LITERAL], bottom[RY_GPU_LITERAL], beyond[RY_GPU_LITERAL],
        x[RY_GPU_LITERAL];
    ry_gpu_number_literal(from, is_signed ? -ldexp(1, bits - 1) : 0, bottom);
    ry_gpu_number_literal(from, ldexp(1, is_signed ? bits - 1 : bits), beyond);
    ry_gpu_integer_literal(to, ry_expr_to_int(to, -INFINITY, false), low);
    ry_gpu_integer_literal(to, ry_expr_to_int(to, INFINITY, false), high);
    snprintf(x, sizeof x, round ? "rint(%s)" : "%s", a);
    ry_text_add(text, "%s != %s ? (%s)0 : %s >= %s ? %s : %s <= %s ? %s : (%s)%s", a, a,
                ry_gpu_register_type(to), x, beyond, high, x, bottom, low, ry_gpu_register_type(to),
                x);
}

/* Compares with those bounds only that the first type can pass. */
static void put_clamped(ry_text *text, ry_dtype from, ry_dtype to, const char *a)
{
    const bool from_signed = ry_dtype_get_kind(from) == RY_KIND_SIGNED,
               to_signed = ry_dtype_get_kind(to) == RY_KIND_SIGNED;
    const int from_bits = 8 * (int)ry_dtype_size(from) - from_signed,
              to_bits = 8 * (int)ry_dtype_size(to) - to_signed;
    const int64_t low = ry_expr_to_int(to, -INFINITY, false),
                  high = ry_expr_to_int(to, INFINITY, false);
    char bound[2][RY_GPU_LITERAL], result[2][RY_GPU_LITERAL];
    ry_gpu_integer_literal(from, low, bound[0]);
    ry_gpu_integer_literal(from, high, bound[1]);
    ry_gpu_integer_literal(to, low, result[0]);
    ry_gpu_integer_literal(to, high, result[1]);
    if (from_signed && (!to_signed || to_bits < from_bits)) {
        ry_text_add(text, "%s < %s ? %s : ", a, bound[0], result[0]);
    }
    if (to_bits < from_bits) {
        ry_text_add(text, "%s > %s ? %s : ", a, bound[1], result[1]);
    }
    ry_text_add(text, "(%s)%s", ry_gpu_register_type(to), a);
}

void ry_gpu_put_cast(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i],
                              *source = &expr->program->code[in->operand[0]];
    const ry_dtype from = ry_gpu_operand_type(expr, i, 0), to = in->dtype;
    char a[RY_GPU_LITERAL];
    if (source->code == RY_EXPR_constant) {
        put_number_cast(text, in, source->value);
        return;
    }
    ry_gpu_value_literal(expr, in->operand[0], from, a);
    if (ry_dtype_is_float(to)) {
        put_float_cast(text, to, a);
    } else if (to == RY_bool) {
        ry_text_add(text, "%s != 0", a);
    } else if (ry_dtype_is_float(from)) {
        put_bounded_cast(text, from, to, in->code == RY_EXPR_saturate, a);
    } else if (in->code == RY_EXPR_saturate) {
        put_clamped(text, from, to, a);
    } else if (from == RY_i32 && ry_dtype_size(to) == sizeof(int64_t)) {
        ry_text_add(text, "(%s)WIDENED(%s)", ry_gpu_register_type(to), a);
    } else {
        ry_text_add(text, "(%s)%s", ry_gpu_register_type(to), a);
    }
}
