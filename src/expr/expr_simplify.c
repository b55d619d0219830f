/* SPDX-License-Identifier: Apache-2.0 */
/* Builds instructions as ry_expr_build does, by the algebra of real numbers: one function for each
 * of the language's that gradients are made of. */
#include "expr/expr_build.h"

static const ry_expr_instruction *code_at(const ry_expr_builder *builder, int at)
{
    return &builder->code[at];
}

bool ry_expr_is_number(const ry_expr_builder *builder, int at, double value)
{
    return at >= 0 && code_at(builder, at)->code == RY_EXPR_constant &&
           code_at(builder, at)->value == value;
}

static bool is_constant(const ry_expr_builder *builder, int at)
{
    return code_at(builder, at)->code == RY_EXPR_constant;
}

static bool is(const ry_expr_builder *builder, int at, ry_expr_code code)
{
    return code_at(builder, at)->code == code;
}

static int two(ry_expr_builder *builder, ry_expr_code code, int a, int b)
{
    return ry_expr_build_simple(builder, code, (const int[3]){a, b, 0});
}

static int one(ry_expr_builder *builder, ry_expr_code code, int a)
{
    return ry_expr_build_simple(builder, code, (const int[3]){a, 0, 0});
}

static int choose(ry_expr_builder *builder, int condition, int a, int b)
{
    return ry_expr_build_simple(builder, RY_EXPR_select, (const int[3]){condition, a, b});
}

/* Is it select(c, p, 0) or select(c, 0, p)? Then f with f(0) = 0 may move inside. */
static bool is_masked(const ry_expr_builder *builder, int at, ry_expr_instruction *select)
{
    *select = *code_at(builder, at);
    return select->code == RY_EXPR_select && (ry_expr_is_number(builder, select->operand[1], 0) ||
                                              ry_expr_is_number(builder, select->operand[2], 0));
}

static int build(ry_expr_builder *builder, ry_expr_code code, int a, int b)
{
    return ry_expr_build(builder, code, (const int[3]){a, b, 0});
}

/* code(select(c, p, 0), b) as select(c, code(p, b), 0); b is not used by a function of one. Within
 * a selection it ends, lest deep nests be built anew by each function. */
static int within(ry_expr_builder *builder, ry_expr_code code, const ry_expr_instruction *select,
                  int b)
{
    int side[2];
    for (int k = 0; k < 2; k++) {
        const int p = select->operand[k + 1];
        side[k] = ry_expr_is_number(builder, p, 0) ? p
                  : is(builder, p, RY_EXPR_select) ? build(builder, code, p, b)
                                                   : two(builder, code, p, b);
    }
    return choose(builder, select->operand[0], side[0], side[1]);
}

/* select(c, p, 0) + select(c, 0, q), in either order. */
static bool join_masks(ry_expr_builder *builder, int a, int b, int *joined)
{
    ry_expr_instruction p, q;
    if (!is_masked(builder, a, &p) || !is_masked(builder, b, &q) || p.operand[0] != q.operand[0]) {
        return false;
    }
    *joined = choose(builder, p.operand[0], two(builder, RY_EXPR_add, p.operand[1], q.operand[1]),
                     two(builder, RY_EXPR_add, p.operand[2], q.operand[2]));
    return true;
}

static int add(ry_expr_builder *builder, int a, int b)
{
    int joined;
    if (ry_expr_is_number(builder, a, 0)) {
        return b;
    }
    if (ry_expr_is_number(builder, b, 0)) {
        return a;
    }
    if (join_masks(builder, a, b, &joined)) {
        return joined;
    }
    if (is(builder, b, RY_EXPR_neg)) {
        return two(builder, RY_EXPR_sub, a, code_at(builder, b)->operand[0]);
    }
    if (is(builder, a, RY_EXPR_neg)) {
        return two(builder, RY_EXPR_sub, b, code_at(builder, a)->operand[0]);
    }
    return a == b ? two(builder, RY_EXPR_mul, a, ry_expr_build_constant(builder, 2))
                  : build(builder, RY_EXPR_add, a, b);
}

static int sub(ry_expr_builder *builder, int a, int b)
{
    if (ry_expr_is_number(builder, a, 0)) {
        return one(builder, RY_EXPR_neg, b);
    }
    if (ry_expr_is_number(builder, b, 0)) {
        return a;
    }
    return is(builder, b, RY_EXPR_neg)
               ? two(builder, RY_EXPR_add, a, code_at(builder, b)->operand[0])
               : build(builder, RY_EXPR_sub, a, b);
}

static int neg(ry_expr_builder *builder, int a)
{
    ry_expr_instruction select;
    if (is(builder, a, RY_EXPR_neg)) {
        return code_at(builder, a)->operand[0];
    }
    if (ry_expr_is_number(builder, a, 0)) {
        return a;
    }
    if (is_masked(builder, a, &select)) {
        return within(builder, RY_EXPR_neg, &select, 0);
    }
    return build(builder, RY_EXPR_neg, a, 0);
}

/* a * c, where c is a constant. */
static int scale(ry_expr_builder *builder, int a, int c)
{
    const ry_expr_instruction in = *code_at(builder, a);
    if (ry_expr_is_number(builder, c, 1)) {
        return a;
    }
    if (ry_expr_is_number(builder, c, -1)) {
        return one(builder, RY_EXPR_neg, a);
    }
    if (in.code == RY_EXPR_mul && is_constant(builder, in.operand[1])) {
        return two(builder, RY_EXPR_mul, in.operand[0],
                   build(builder, RY_EXPR_mul, in.operand[1], c));
    }
    return build(builder, RY_EXPR_mul, a, c);
}

static int mul(ry_expr_builder *builder, int a, int b)
{
    ry_expr_instruction select;
    if (ry_expr_is_number(builder, a, 0) || ry_expr_is_number(builder, b, 0)) {
        return ry_expr_build_constant(builder, 0);
    }
    if (is_masked(builder, a, &select)) {
        return within(builder, RY_EXPR_mul, &select, b);
    }
    if (is_masked(builder, b, &select)) {
        return within(builder, RY_EXPR_mul, &select, a);
    }
    if (is(builder, a, RY_EXPR_neg) && !is_constant(builder, b)) {
        return one(builder, RY_EXPR_neg,
                   two(builder, RY_EXPR_mul, code_at(builder, a)->operand[0], b));
    }
    if (is(builder, b, RY_EXPR_neg) && !is_constant(builder, a)) {
        return one(builder, RY_EXPR_neg,
                   two(builder, RY_EXPR_mul, a, code_at(builder, b)->operand[0]));
    }
    if (is_constant(builder, a) && !is_constant(builder, b)) {
        return scale(builder, b, a);
    }
    return is_constant(builder, b) && !is_constant(builder, a) ? scale(builder, a, b)
                                                               : build(builder, RY_EXPR_mul, a, b);
}

static int quotient(ry_expr_builder *builder, int a, int b)
{
    ry_expr_instruction select;
    if (ry_expr_is_number(builder, a, 0) || ry_expr_is_number(builder, b, 1)) {
        return a;
    }
    if (is_masked(builder, a, &select)) {
        return within(builder, RY_EXPR_div, &select, b);
    }
    return build(builder, RY_EXPR_div, a, b);
}

static int power(ry_expr_builder *builder, int a, int b)
{
    return ry_expr_is_number(builder, b, 0)   ? ry_expr_build_constant(builder, 1)
           : ry_expr_is_number(builder, b, 1) ? a
           : ry_expr_is_number(builder, b, 2) ? build(builder, RY_EXPR_mul, a, a)
                                              : build(builder, RY_EXPR_pow, a, b);
}

/* Comparisons of constants are casts of 0 or 1 to bool. */
static bool is_truth(const ry_expr_builder *builder, int at, bool *value)
{
    const ry_expr_instruction *in = code_at(builder, at);
    if (in->code != RY_EXPR_cast || in->dtype != RY_bool || !is_constant(builder, in->operand[0])) {
        return false;
    }
    *value = code_at(builder, in->operand[0])->value != 0;
    return true;
}

static int both(ry_expr_builder *builder, int a, int b)
{
    bool value;
    if (is_truth(builder, a, &value)) {
        return value ? b : a;
    }
    if (is_truth(builder, b, &value)) {
        return value ? a : b;
    }
    return build(builder, RY_EXPR_and, a, b);
}

static int selection(ry_expr_builder *builder, const int *operand)
{
    bool value;
    if (is_truth(builder, operand[0], &value)) {
        return operand[value ? 1 : 2];
    }
    return operand[1] == operand[2] ? operand[1] : ry_expr_build(builder, RY_EXPR_select, operand);
}

int ry_expr_build_simple(ry_expr_builder *builder, ry_expr_code code, const int *operand)
{
    for (int k = 0; k < ry_expr_code_operands(code); k++) {
        if (operand[k] < 0) {
            return operand[k];
        }
    }
    switch (code) {
    case RY_EXPR_add: return add(builder, operand[0], operand[1]);
    case RY_EXPR_sub: return sub(builder, operand[0], operand[1]);
    case RY_EXPR_neg: return neg(builder, operand[0]);
    case RY_EXPR_mul: return mul(builder, operand[0], operand[1]);
    case RY_EXPR_div: return quotient(builder, operand[0], operand[1]);
    case RY_EXPR_pow: return power(builder, operand[0], operand[1]);
    case RY_EXPR_and: return both(builder, operand[0], operand[1]);
    case RY_EXPR_select: return selection(builder, operand);
    default: return ry_expr_build(builder, code, operand);
    }
}
