/* SPDX-License-Identifier: Apache-2.0 */
/* The element type of every instruction. */
#include "expr/expr.h"

/* Types go from operands to results, and then once backwards, to constants and what is made of
 * constants alone. */

static rynd_status refuse(const ry_expr_instruction *in, ry_dtype a, ry_dtype b, ry_error *error)
{
    const char *name = ry_expr_code_name(in->code);
    if (b != RY_NONE && a != b) {
        return ry_fail(error, RYND_ERROR_SHAPE, "expression: the operands of %s are %s and %s",
                       name, ry_dtype_name(a), ry_dtype_name(b));
    }
    return ry_fail(error, RYND_ERROR_SHAPE, "expression: %s of %s is not defined", name,
                   ry_dtype_name(a));
}

static bool allowed(ry_expr_code code, ry_dtype dtype)
{
    ry_dtype_kind kind = ry_dtype_get_kind(dtype);
    switch (ry_expr_code_class(code)) {
    case RY_EXPR_CLASS_SAME:
    case RY_EXPR_CLASS_REDUCE:
        return kind != RY_KIND_BOOL || code == RY_EXPR_min || code == RY_EXPR_max ||
               code == RY_EXPR_reduce_min || code == RY_EXPR_reduce_max;
    case RY_EXPR_CLASS_FLOAT: return kind == RY_KIND_FLOAT;
    case RY_EXPR_CLASS_LOGIC: return kind == RY_KIND_BOOL;
    case RY_EXPR_CLASS_BITS: return kind == RY_KIND_SIGNED || kind == RY_KIND_UNSIGNED;
    default: return true;
    }
}

/* The type that the value operands share; RY_NONE when all are constants. */
static rynd_status shared(const ry_expr *program, const ry_expr_instruction *in,
                          const ry_dtype *types, ry_dtype *type, ry_error *error)
{
    *type = RY_NONE;
    for (int k = in->code == RY_EXPR_select ? 1 : 0; k < ry_expr_code_operands(in->code); k++) {
        bool constant = program->code[in->operand[k]].code == RY_EXPR_constant;
        ry_dtype operand = constant ? RY_NONE : types[in->operand[k]];
        if (operand != RY_NONE && *type != RY_NONE && operand != *type) {
            return refuse(in, *type, operand, error);
        }
        *type = operand != RY_NONE ? operand : *type;
    }
    if (*type != RY_NONE && !allowed(in->code, *type)) {
        return refuse(in, *type, RY_NONE, error);
    }
    return RYND_OK;
}

static rynd_status result_type(const ry_expr *program, const ry_expr_instruction *in,
                               const ry_dtype *inputs, const ry_dtype *types, ry_dtype *type,
                               ry_error *error)
{
    switch (in->code) {
    case RY_EXPR_input: *type = inputs[in->index]; return RYND_OK;
    case RY_EXPR_constant: *type = RY_NONE; return RYND_OK;
    case RY_EXPR_cast:
    case RY_EXPR_saturate: *type = in->dtype; return RYND_OK;
    default: break;
    }
    RY_TRY(shared(program, in, types, type, error));
    ry_expr_class class = ry_expr_code_class(in->code);
    if (class == RY_EXPR_CLASS_SELECT && types[in->operand[0]] != RY_bool &&
        types[in->operand[0]] != RY_NONE) {
        return ry_fail(error, RYND_ERROR_SHAPE,
                       "expression: the condition of select is %s, not bool",
                       ry_dtype_name(types[in->operand[0]]));
    }
    if (class == RY_EXPR_CLASS_BOOL || class == RY_EXPR_CLASS_LOGIC) {
        *type = RY_bool;
    }
    return RYND_OK;
}

/* Gives an instruction without a type the wanted type; false if it has another type and is not a
 * constant. */
static bool push_down(const ry_expr *program, int at, ry_dtype wanted, ry_dtype *types)
{
    if (types[at] == RY_NONE) {
        types[at] = wanted;
    }
    return types[at] == wanted || program->code[at].code == RY_EXPR_constant;
}

static rynd_status backward(const ry_expr *program, int i, ry_dtype *types, ry_error *error)
{
    const ry_expr_instruction *in = &program->code[i];
    ry_expr_class class = ry_expr_code_class(in->code);
    if (types[i] == RY_NONE) {
        types[i] = RY_f32;
    }
    if (class == RY_EXPR_CLASS_NONE) {
        if (in->code == RY_EXPR_cast || in->code == RY_EXPR_saturate) {
            /* a constant keeps all its digits until it is cast */
            push_down(program, in->operand[0], RY_f64, types);
        }
        return RYND_OK;
    }
    ry_dtype wanted = class == RY_EXPR_CLASS_LOGIC ? RY_bool : types[i];
    if (class == RY_EXPR_CLASS_BOOL) {
        RY_TRY(shared(program, in, types, &wanted, error));
        wanted = wanted == RY_NONE ? RY_f32 : wanted;
    }
    if (!allowed(in->code, wanted)) {
        return refuse(in, wanted, RY_NONE, error);
    }
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        ry_dtype type = in->code == RY_EXPR_select && k == 0 ? RY_bool : wanted;
        if (!push_down(program, in->operand[k], type, types)) {
            return refuse(in, type, types[in->operand[k]], error);
        }
    }
    return RYND_OK;
}

rynd_status ry_expr_types(const ry_expr *program, const ry_dtype *inputs, ry_dtype *types,
                          ry_error *error)
{
    for (int i = 0; i < program->count; i++) {
        RY_TRY(result_type(program, &program->code[i], inputs, types, &types[i], error));
    }
    for (int i = program->count - 1; i >= 0; i--) {
        RY_TRY(backward(program, i, types, error));
    }
    return RYND_OK;
}
