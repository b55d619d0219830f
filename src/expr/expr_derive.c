/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of pointwise programs: reverse accumulation, instruction by instruction, by the rules
 * of expr_gradients.inc. */
#include "expr/expr_build.h"

#include <string.h>

/* min and max with a constant have two meanings in PyTorch, which differ where the operand is that
 * constant: relu, relu6 and hardtanh give 0 there, clamp gives 1. max(a, 0) is relu, and with a
 * positive constant above, min(max(a, 0), c) or max(min(a, c), 0), relu6; every other one is
 * clamp's. relu's and relu6's tell by the result, so that nobody need keep what went into them. */
#define RELU_MAX  "b = x1; y = x3; g = x4; y0 = select(y <= b, 0, g)" /* y or a */
#define RELU_MIN  "b = x1; y = x3; g = x4; y0 = select(y >= b, 0, g)"
#define CLAMP_MAX "a = x0; b = x1; g = x4; y0 = select(a >= b, g, 0)"
#define CLAMP_MIN "a = x0; b = x1; g = x4; y0 = select(a <= b, g, 0)"

/* The inputs of a rule: operands, result, gradient of the result. */
enum { A, Y = 3, G, RULE_INPUTS };

typedef struct derivation {
    const ry_expr *program;
    const ry_expr_gradient_options *options;
    ry_expr_builder *builder;
    ry_arena *scratch; /* holds the rules' programs */
    ry_dtype *types;   /* type of each instruction */
    bool *active;      /* its value depends on a wanted input */
    int *map;     /* the builder's instruction of each; of a known output, the input that has it */
    int *adjoint; /* the gradient of each so far */
    int *around;  /* for the inner half of a relu6, the outer half; else -1 */
    ry_error *error;
} derivation;

static bool is_constant(const ry_expr *program, int at)
{
    return program->code[at].code == RY_EXPR_constant;
}

/* A min or max with a constant, which stands second in the order of programs. */
static bool is_bound(const ry_expr *program, int at)
{
    const ry_expr_code code = program->code[at].code;
    return (code == RY_EXPR_min || code == RY_EXPR_max) &&
           is_constant(program, program->code[at].operand[1]);
}

static double bound_of(const ry_expr *program, int at)
{
    return program->code[program->code[at].operand[1]].value;
}

/* around[], from who reads what. */
static void find_pairs(const ry_expr *program, int *around)
{
    enum { NOBODY = -1, SEVERAL = -2 };
    for (int i = 0; i < program->count; i++) {
        around[i] = NOBODY;
    }
    for (int i = 0; i < program->count; i++) {
        for (int k = 0; k < ry_expr_code_operands(program->code[i].code); k++) {
            int *reader = &around[program->code[i].operand[k]];
            *reader = *reader == NOBODY ? i : SEVERAL;
        }
    }
    for (int o = 0; o < program->outputs; o++) {
        around[program->result[o]] = SEVERAL;
    }
    for (int i = 0; i < program->count; i++) {
        const int outer = around[i];
        bool pair = outer >= 0 && is_bound(program, i) && is_bound(program, outer) &&
                    program->code[i].code != program->code[outer].code;
        if (pair) {
            const bool inner_max = program->code[i].code == RY_EXPR_max;
            pair = bound_of(program, inner_max ? i : outer) == 0 &&
                   bound_of(program, inner_max ? outer : i) > 0;
        }
        around[i] = pair ? outer : NOBODY;
    }
}

static bool in_pair(const derivation *d, int at)
{
    if (d->around[at] >= 0) {
        return true;
    }
    const int inner = d->program->code[at].operand[0];
    return d->around[inner] == at;
}

/* Does reading the result save computing its operands again? */
static bool worth_reading(const derivation *d, int at)
{
    return ry_expr_code_class(d->program->code[at].code) == RY_EXPR_CLASS_FLOAT ||
           is_bound(d->program, at);
}

/* The program once more, with outputs that may be read as inputs, and what is active. */
static void copy(derivation *d, const int *input)
{
    const ry_expr *program = d->program;
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        int operand[3] = {0, 0, 0};
        d->active[i] = in->code == RY_EXPR_input && d->options->wanted[in->index];
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            operand[k] = d->map[in->operand[k]];
            d->active[i] = d->active[i] || d->active[in->operand[k]];
        }
        d->active[i] = d->active[i] && ry_dtype_is_float(d->types[i]);
        d->map[i] = ry_expr_build_copy(d->builder, in, operand, input);
        for (int o = 0; d->options->known && o < program->outputs; o++) {
            if (d->options->known[o] && program->result[o] == i && worth_reading(d, i)) {
                d->map[i] = ry_expr_build_input(d->builder, program->inputs + program->outputs + o);
            }
        }
    }
}

static bool is_relu(const derivation *d, int at)
{
    return is_bound(d->program, at) &&
           (in_pair(d, at) ||
            (d->program->code[at].code == RY_EXPR_max && bound_of(d->program, at) == 0));
}

static const char *rule_of(const derivation *d, int at)
{
    const ry_expr_code code = d->program->code[at].code;
    if (!is_bound(d->program, at)) {
        return ry_expr_code_gradient(code);
    }
    const bool is_max = code == RY_EXPR_max;
    return is_relu(d, at) ? (is_max ? RELU_MAX : RELU_MIN) : (is_max ? CLAMP_MAX : CLAMP_MIN);
}

/* What stands for y in a rule. relu's and relu6's results tell as much as their operands, which are
 * taken where the result cannot be read. */
static int result_of(const derivation *d, int at)
{
    const int result = d->map[d->around[at] >= 0 ? d->around[at] : at];
    const bool read = result >= 0 && d->builder->code[result].code == RY_EXPR_input;
    return is_relu(d, at) && !read ? d->map[d->program->code[at].operand[0]] : result;
}

/* select(e < 0, f, e), where f is 0 when e is: e times something, or expm1(e), or that times
 * something. */
static bool is_ramp(const ry_expr *program, int at)
{
    const ry_expr_instruction *in = &program->code[at], *code = program->code;
    const int e = in->operand[2], f = in->operand[1];
    const ry_expr_instruction *less = &code[in->operand[0]];
    if (in->code != RY_EXPR_select || less->code != RY_EXPR_lt || less->operand[0] != e ||
        code[less->operand[1]].code != RY_EXPR_constant || code[less->operand[1]].value != 0) {
        return false;
    }
    for (int k = 0; k < 3; k++) {
        const int factor = k < 2 ? code[f].operand[k] : f;
        const bool is_e = factor == e && k < 2,
                   is_expm1 = code[factor].code == RY_EXPR_expm1 && code[factor].operand[0] == e;
        if ((is_e || is_expm1) && (k == 2 || code[f].code == RY_EXPR_mul)) {
            return true;
        }
    }
    return false;
}

/* What stands for the condition of a selection: leaky_relu, PReLU and elu have the gradient of the
 * lower side at 0. */
static int condition_of(const derivation *d, int at)
{
    const ry_expr_instruction *less = &d->program->code[d->program->code[at].operand[0]];
    if (!is_ramp(d->program, at)) {
        return d->map[d->program->code[at].operand[0]];
    }
    const int operand[3] = {d->map[less->operand[0]], d->map[less->operand[1]], 0};
    return ry_expr_build(d->builder, RY_EXPR_le, operand);
}

static void accumulate(derivation *d, int at, int term)
{
    const int operand[3] = {d->adjoint[at], term, 0};
    d->adjoint[at] = ry_expr_build_simple(d->builder, RY_EXPR_add, operand);
}

/* Builds the instructions of a rule that compute `output`; returns the output's index. */
static int place(derivation *d, const ry_expr *rule, int output, const int *input, int *map,
                 bool *needed)
{
    memset(needed, 0, (size_t)rule->count * sizeof *needed);
    needed[rule->result[output]] = true;
    for (int i = rule->count - 1; i >= 0; i--) {
        for (int k = 0; needed[i] && k < ry_expr_code_operands(rule->code[i].code); k++) {
            needed[rule->code[i].operand[k]] = true;
        }
    }
    for (int i = 0; i < rule->count; i++) {
        const ry_expr_instruction *in = &rule->code[i];
        int operand[3] = {0, 0, 0};
        for (int k = 0; needed[i] && k < ry_expr_code_operands(in->code); k++) {
            operand[k] = map[in->operand[k]];
        }
        if (needed[i] && in->code > RY_EXPR_saturate) {
            map[i] = ry_expr_build_simple(d->builder, in->code, operand);
        } else if (needed[i]) {
            map[i] = ry_expr_build_copy(d->builder, in, operand, input);
        }
    }
    return map[rule->result[output]];
}

static rynd_status apply_rule(derivation *d, int at)
{
    const ry_expr_instruction *in = &d->program->code[at];
    const char *text = rule_of(d, at);
    const ry_expr *rule = NULL;
    if (!text) {
        return RYND_OK;
    }
    RY_TRY(ry_expr_parse(text, NULL, 0, d->scratch, &rule, d->error));
    int input[RULE_INPUTS] = {0};
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        input[A + k] = d->map[in->operand[k]];
    }
    input[A] = in->code == RY_EXPR_select ? condition_of(d, at) : input[A];
    input[Y] = result_of(d, at);
    input[G] = d->adjoint[at];
    int *map = RY_TAKE(d->scratch, int, rule->count);
    bool *needed = RY_TAKE(d->scratch, bool, rule->count);
    if (!map || !needed) {
        return ry_fail_memory(d->error);
    }
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        if (d->active[in->operand[k]]) {
            accumulate(d, in->operand[k], place(d, rule, k, input, map, needed));
        }
    }
    return RYND_OK;
}

static rynd_status go_back(derivation *d, int at)
{
    const ry_expr_instruction *in = &d->program->code[at];
    if (!d->active[at] || ry_expr_is_number(d->builder, d->adjoint[at], 0)) {
        return RYND_OK;
    }
    if (in->code == RY_EXPR_cast) {
        const int operand = in->operand[0];
        if (d->active[operand]) {
            accumulate(d, operand,
                       d->types[operand] == d->types[at]
                           ? d->adjoint[at]
                           : ry_expr_build_cast(d->builder, RY_EXPR_cast, d->types[operand],
                                                d->adjoint[at]));
        }
        return RYND_OK;
    }
    return in->code > RY_EXPR_saturate ? apply_rule(d, at) : RYND_OK;
}

static rynd_status derive(derivation *d, ry_arena *arena, const ry_expr **gradient, int *at)
{
    const ry_expr *program = d->program;
    int input[RY_EXPR_MAX_INPUTS], result[RY_EXPR_MAX_INPUTS], results = 0;
    for (int i = 0; i < program->inputs; i++) {
        input[i] = ry_expr_build_input(d->builder, i);
        at[i] = -1;
    }
    find_pairs(program, d->around);
    copy(d, input);
    for (int i = 0; i < program->count; i++) {
        d->adjoint[i] = ry_expr_build_constant(d->builder, 0);
    }
    for (int o = 0; o < program->outputs; o++) {
        if (!d->options->given || d->options->given[o]) {
            accumulate(d, program->result[o], ry_expr_build_input(d->builder, program->inputs + o));
        }
    }
    for (int i = program->count - 1; i >= 0; i--) {
        RY_TRY(go_back(d, i));
        const ry_expr_instruction *in = &program->code[i];
        if (in->code == RY_EXPR_input && d->active[i] &&
            !ry_expr_is_number(d->builder, d->adjoint[i], 0)) {
            at[in->index] = results;
            result[results++] = d->adjoint[i];
        }
    }
    if (results > RY_EXPR_MAX_OUTPUTS) {
        return ry_fail(d->error, RYND_ERROR_UNSUPPORTED,
                       "the gradient of an expression by more than %d inputs", RY_EXPR_MAX_OUTPUTS);
    }
    return results == 0 ? RYND_OK
                        : ry_expr_builder_finish(d->builder, program->inputs + 2 * program->outputs,
                                                 result, results, arena, gradient, d->error);
}

static rynd_status check(const ry_expr *program, ry_error *error)
{
    if (program->reduces) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the gradient of a program that reduces is made of parts");
    }
    if (program->inputs + 2 * program->outputs > RY_EXPR_MAX_INPUTS) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the gradient of an expression of %d inputs and %d outputs would have more "
                       "than %d inputs",
                       program->inputs, program->outputs, RY_EXPR_MAX_INPUTS);
    }
    return RYND_OK;
}

rynd_status ry_expr_gradient(const ry_expr *program, const ry_expr_gradient_options *options,
                             ry_arena *arena, const ry_expr **gradient, int *at, ry_error *error)
{
    *gradient = NULL;
    RY_TRY(check(program, error));
    ry_arena scratch;
    ry_expr_builder builder;
    const size_t count = (size_t)program->count;
    if (!ry_expr_builder_init(&builder, arena->allocator)) {
        return ry_fail_memory(error);
    }
    ry_arena_init(&scratch, arena->allocator);
    derivation d = {.program = program, .options = options, .builder = &builder};
    d.scratch = &scratch;
    d.error = error;
    d.types = RY_TAKE(&scratch, ry_dtype, count);
    d.active = RY_TAKE(&scratch, bool, count);
    d.map = RY_TAKE(&scratch, int, count);
    d.adjoint = RY_TAKE(&scratch, int, count);
    d.around = RY_TAKE(&scratch, int, count);
    rynd_status status = d.types && d.active && d.map && d.adjoint && d.around
                             ? ry_expr_types(program, options->inputs, d.types, error)
                             : ry_fail_memory(error);
    if (status == RYND_OK) {
        status = derive(&d, arena, gradient, at);
    }
    ry_arena_free(&scratch);
    ry_expr_builder_free(&builder);
    return status;
}
