/* SPDX-License-Identifier: Apache-2.0 */
/* Matches a program against a text with unknown numbers. */
#include "expr/expr_build.h"

#include <math.h>
#include <string.h>

/* Attempts before giving up: patterns of a few dozen instructions need far fewer, and both orders
 * of every sum are tried at worst. */
#define MAX_STEPS    20000
#define MAX_UNKNOWNS 16

typedef struct matcher {
    const ry_expr *program;
    const ry_expr_builder *pattern;
    int steps;
    bool known[MAX_UNKNOWNS];
    double value[MAX_UNKNOWNS];
} matcher;

/* Models store constants as f32, patterns write them in full: numbers agree when they are the same
 * but for f32's rounding. Whole numbers must be the same. */
static bool same_number(double a, double b)
{
    if (a == b || (isnan(a) && isnan(b))) {
        return true;
    }
    bool whole = a == floor(a) && b == floor(b);
    return !whole && fabs(a - b) <= 3e-7 * fabs(b);
}

static bool unify(matcher *m, int pattern, int at);

static bool unify_operands(matcher *m, const ry_expr_instruction *p, const ry_expr_instruction *q,
                           bool swap)
{
    matcher saved = *m;
    int operands = ry_expr_code_operands(p->code);
    for (int k = 0; k < operands; k++) {
        if (!unify(m, p->operand[k], q->operand[swap ? 1 - k : k])) {
            saved.steps = m->steps;
            *m = saved;
            return false;
        }
    }
    return true;
}

static bool unify(matcher *m, int pattern, int at)
{
    const ry_expr_instruction *p = &m->pattern->code[pattern], *q = &m->program->code[at];
    if (--m->steps < 0) {
        return false;
    }
    if (p->code == RY_EXPR_parameter) {
        if (q->code != RY_EXPR_constant ||
            (m->known[p->index] && !same_number(q->value, m->value[p->index]))) {
            return false;
        }
        m->known[p->index] = true;
        m->value[p->index] = q->value;
        return true;
    }
    if (p->code != q->code || p->dtype != q->dtype || p->index != q->index) {
        return false;
    }
    if (p->code == RY_EXPR_constant) {
        return same_number(q->value, p->value);
    }
    return unify_operands(m, p, q, false) ||
           (ry_expr_commutes(p->code) && unify_operands(m, p, q, true));
}

static bool match(const ry_expr *program, const ry_expr_builder *pattern, const int *result,
                  int outputs, ry_expr_parameter *parameters, int count)
{
    matcher m = {.program = program, .pattern = pattern, .steps = MAX_STEPS};
    if (pattern->inputs != program->inputs || outputs != program->outputs) {
        return false;
    }
    for (int i = 0; i < outputs; i++) {
        if (!unify(&m, result[i], program->result[i])) {
            return false;
        }
    }
    for (int i = 0; i < count; i++) {
        parameters[i].value = m.known[i] ? m.value[i] : parameters[i].value;
    }
    return true;
}

rynd_status ry_expr_match(const ry_expr *program, const char *text, ry_expr_parameter *parameters,
                          int parameter_count, const ry_allocator *allocator, bool *found,
                          ry_error *error)
{
    ry_expr_builder pattern;
    int result[RY_EXPR_MAX_OUTPUTS], outputs;
    *found = false;
    if (parameter_count > MAX_UNKNOWNS) {
        return RYND_OK;
    }
    if (!ry_expr_builder_init(&pattern, allocator)) {
        return ry_fail_memory(error);
    }
    rynd_status status = ry_expr_parse_into(&pattern, text, parameters, parameter_count, true,
                                            result, &outputs, NULL);
    *found =
        status == RYND_OK && match(program, &pattern, result, outputs, parameters, parameter_count);
    ry_expr_builder_free(&pattern);
    return status == RYND_ERROR_OUT_OF_MEMORY ? ry_fail_memory(error) : RYND_OK;
}
