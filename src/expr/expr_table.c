/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language's functions as a table. */
#include "expr/expr.h"

typedef struct code_row {
    const char *name;
    int operands;
    ry_expr_class class;
    ry_expr_code swapped;
} code_row;

static const code_row rows[RY_EXPR_CODES] = {
    [RY_EXPR_input] = {"x", 0, RY_EXPR_CLASS_NONE, RY_EXPR_none},
    [RY_EXPR_constant] = {"constant", 0, RY_EXPR_CLASS_NONE, RY_EXPR_none},
    [RY_EXPR_cast] = {"cast", 1, RY_EXPR_CLASS_NONE, RY_EXPR_none},
    [RY_EXPR_saturate] = {"saturate", 1, RY_EXPR_CLASS_NONE, RY_EXPR_none},
#define RY_EXPR_OP(name, operands, result, swapped) \
    [RY_EXPR_##name] = {#name, operands, RY_EXPR_CLASS_##result, RY_EXPR_##swapped},
#include "expr/expr_ops.inc"
#undef RY_EXPR_OP
};

const char *ry_expr_code_name(ry_expr_code code)
{
    switch (code) {
    case RY_EXPR_reduce_min: return "min";
    case RY_EXPR_reduce_max: return "max";
    default: return rows[code].name;
    }
}

int ry_expr_code_operands(ry_expr_code code)
{
    return rows[code].operands;
}

ry_expr_class ry_expr_code_class(ry_expr_code code)
{
    return rows[code].class;
}

ry_expr_code ry_expr_code_swapped(ry_expr_code code)
{
    return rows[code].swapped;
}

const char *ry_expr_code_gradient(ry_expr_code code)
{
    static const char *const gradients[RY_EXPR_CODES] = {
#define RY_EXPR_GRADIENT(name, program) \
    [RY_EXPR_##name] = "a = x0; b = x1; c = x2; y = x3; g = x4; " program,
#include "expr/expr_gradients.inc"
#undef RY_EXPR_GRADIENT
    };
    return gradients[code];
}
