/* SPDX-License-Identifier: Apache-2.0 */
/* The expression language's parser: recursive descent, one function a level of precedence. */
#include "expr/expr_build.h"

#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NAMES  (RY_EXPR_MAX_INSTRUCTIONS + RY_EXPR_MAX_OUTPUTS) /* what the printer may need */
#define MAX_LENGTH 65536

typedef struct name {
    const char *text;
    size_t length;
    int value;
} name;

typedef struct parser {
    const char *text;
    size_t at;
    int depth;
    ry_expr_builder *builder;
    const ry_expr_parameter *parameters;
    int parameter_count;
    bool symbolic;
    int *result, *outputs;
    int name_count;
    name *names; /* [MAX_NAMES] */
    rynd_status status;
    ry_error *error;
} parser;

static int parse_level(parser *p, int level);

/* Fails once, at the first cause, with the place and what follows it. */
static int fail(parser *p, size_t at, const char *what)
{
    if (p->status == RYND_OK) {
        const char *rest = p->text + at;
        p->status =
            ry_fail(p->error, RYND_ERROR_FORMAT, "expression, column %zu: %s %s%.40s%s in '%.200s'",
                    at + 1, what, *rest ? "at '" : "at the end", rest, *rest ? "'" : "", p->text);
    }
    return RY_EXPR_BUILD_FULL;
}

static int built(parser *p, size_t at, int value)
{
    switch (value) {
    case RY_EXPR_BUILD_FULL: return fail(p, at, "the expression has too many instructions");
    case RY_EXPR_BUILD_MIXED:
        return fail(p, at, "a reduced and an unreduced term meet (write two expressions)");
    case RY_EXPR_BUILD_NESTED: return fail(p, at, "a reduction of a reduced term");
    default: return value;
    }
}

static void skip_space(parser *p)
{
    while (isspace((unsigned char)p->text[p->at])) {
        p->at++;
    }
}

static bool accept(parser *p, const char *token)
{
    skip_space(p);
    size_t length = strlen(token);
    if (strncmp(p->text + p->at, token, length) != 0) {
        return false;
    }
    p->at += length;
    return true;
}

static bool expect(parser *p, const char *token, const char *what)
{
    if (accept(p, token)) {
        return true;
    }
    fail(p, p->at, what);
    return false;
}

static size_t word_length(const parser *p)
{
    const char *text = p->text + p->at;
    size_t length = 0;
    if (isalpha((unsigned char)*text) || *text == '_') {
        while (isalnum((unsigned char)text[length]) || text[length] == '_') {
            length++;
        }
    }
    return length;
}

static bool word_is(const char *text, size_t length, const char *word)
{
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

/* `x12` is 12; -1 when the word is not that letter and a number without leading zeros. */
static int numbered(const char *text, size_t length, char letter)
{
    if (length < 2 || length > 5 || text[0] != letter || (text[1] == '0' && length > 2)) {
        return -1;
    }
    int number = 0;
    for (size_t i = 1; i < length; i++) {
        if (!isdigit((unsigned char)text[i])) {
            return -1;
        }
        number = number * 10 + (text[i] - '0');
    }
    return number;
}

static int parse_number(parser *p)
{
    const char *text = p->text + p->at;
    size_t length = 0;
    while (isdigit((unsigned char)text[length]) || text[length] == '.' ||
           ((text[length] == '+' || text[length] == '-') && length > 0 &&
            (text[length - 1] == 'e' || text[length - 1] == 'E')) ||
           ((text[length] == 'e' || text[length] == 'E') && length > 0)) {
        length++;
    }
    double value;
    if (!ry_number_parse(text, length, &value)) {
        return fail(p, p->at, "not a number");
    }
    size_t start = p->at;
    p->at += length;
    return built(p, start, ry_expr_build_constant(p->builder, value));
}

static int parse_cast(parser *p, ry_expr_code code)
{
    int value = parse_level(p, 0);
    if (!expect(p, ",", "expected ', dtype'")) {
        return RY_EXPR_BUILD_FULL;
    }
    skip_space(p);
    size_t length = word_length(p), start = p->at;
    ry_dtype dtype = ry_dtype_parse(p->text + p->at, length);
    if (length == 0 || dtype == RY_NONE) {
        return fail(p, start, "unknown element type");
    }
    if (code == RY_EXPR_saturate && (ry_dtype_is_float(dtype) || dtype == RY_bool)) {
        return fail(p, start, "saturate needs an integer type");
    }
    p->at += length;
    if (!expect(p, ")", "expected ')'")) {
        return RY_EXPR_BUILD_FULL;
    }
    return built(p, start, ry_expr_build_cast(p->builder, code, dtype, value));
}

/* min and max take one operand (a reduction), two, or more (from left to right). */
static int parse_extremum(parser *p, bool is_min, size_t start)
{
    int operand[3] = {parse_level(p, 0), 0, 0};
    if (!accept(p, ",")) {
        if (!expect(p, ")", "expected ',' or ')'")) {
            return RY_EXPR_BUILD_FULL;
        }
        return built(
            p, start,
            ry_expr_build(p->builder, is_min ? RY_EXPR_reduce_min : RY_EXPR_reduce_max, operand));
    }
    do {
        operand[1] = parse_level(p, 0);
        if (p->status != RYND_OK) {
            return RY_EXPR_BUILD_FULL;
        }
        operand[0] =
            built(p, start, ry_expr_build(p->builder, is_min ? RY_EXPR_min : RY_EXPR_max, operand));
    } while (accept(p, ","));
    return expect(p, ")", "expected ',' or ')'") ? operand[0] : RY_EXPR_BUILD_FULL;
}

static int parse_call(parser *p, const char *word, size_t length, size_t start)
{
    if (word_is(word, length, "min") || word_is(word, length, "max")) {
        return parse_extremum(p, word[1] == 'i', start);
    }
    if (word_is(word, length, "cast")) {
        return parse_cast(p, RY_EXPR_cast);
    }
    if (word_is(word, length, "saturate")) {
        return parse_cast(p, RY_EXPR_saturate);
    }
    for (int code = RY_EXPR_saturate + 1; code < RY_EXPR_CODES; code++) {
        if (!word_is(word, length, ry_expr_code_name((ry_expr_code)code))) {
            continue;
        }
        int operand[3] = {0, 0, 0}, operands = ry_expr_code_operands((ry_expr_code)code);
        for (int i = 0; i < operands; i++) {
            if (i > 0 && !expect(p, ",", "expected ',' (the function has more operands)")) {
                return RY_EXPR_BUILD_FULL;
            }
            operand[i] = parse_level(p, 0);
        }
        if (!expect(p, ")", "expected ')'")) {
            return RY_EXPR_BUILD_FULL;
        }
        return built(p, start, ry_expr_build(p->builder, (ry_expr_code)code, operand));
    }
    return fail(p, start, "unknown function");
}

static int parse_word(parser *p)
{
    const char *word = p->text + p->at;
    size_t length = word_length(p), start = p->at;
    p->at += length;
    if (accept(p, "(")) {
        return parse_call(p, word, length, start);
    }
    for (int i = 0; i < p->parameter_count; i++) {
        if (word_is(word, length, p->parameters[i].name)) {
            return built(p, start,
                         p->symbolic ? ry_expr_build_parameter(p->builder, i)
                                     : ry_expr_build_constant(p->builder, p->parameters[i].value));
        }
    }
    for (int i = 0; i < p->name_count; i++) {
        if (p->names[i].length == length && memcmp(p->names[i].text, word, length) == 0) {
            return p->names[i].value;
        }
    }
    if (word_is(word, length, "inf") || word_is(word, length, "nan")) {
        return built(
            p, start,
            ry_expr_build_constant(p->builder, *word == 'i' ? (double)INFINITY : (double)NAN));
    }
    int index = numbered(word, length, 'x');
    if (index >= RY_EXPR_MAX_INPUTS) {
        return fail(p, start, "too many inputs");
    }
    return index >= 0 ? built(p, start, ry_expr_build_input(p->builder, index))
                      : fail(p, start, "unknown name");
}

static int parse_primary(parser *p)
{
    skip_space(p);
    char c = p->text[p->at];
    if (isdigit((unsigned char)c) || c == '.') {
        return parse_number(p);
    }
    if (word_length(p) > 0) {
        return parse_word(p);
    }
    if (!expect(p, "(", "expected a term")) {
        return RY_EXPR_BUILD_FULL;
    }
    int value = parse_level(p, 0);
    return expect(p, ")", "expected ')'") ? value : RY_EXPR_BUILD_FULL;
}

static int parse_unary(parser *p)
{
    skip_space(p);
    size_t start = p->at;
    bool negate = p->text[p->at] == '-',
         invert = p->text[p->at] == '!' && p->text[p->at + 1] != '=';
    if (p->depth >= RY_EXPR_MAX_DEPTH) {
        return fail(p, start, "the expression is nested too deeply");
    }
    p->depth++;
    int value;
    if (negate || invert) {
        p->at++;
        int operand[3] = {parse_unary(p), 0, 0};
        value = p->status != RYND_OK
                    ? RY_EXPR_BUILD_FULL
                    : built(p, start,
                            ry_expr_build(p->builder, negate ? RY_EXPR_neg : RY_EXPR_not, operand));
    } else {
        value = parse_primary(p);
    }
    p->depth--;
    return value;
}

/* Binary operators, loosest first; a longer token stands before its beginning. */
static const struct {
    int level;
    const char *token;
    ry_expr_code code;
} operators[] = {
    {0, "|", RY_EXPR_or},  {1, "^", RY_EXPR_xor}, {2, "&", RY_EXPR_and}, {3, "==", RY_EXPR_eq},
    {3, "!=", RY_EXPR_ne}, {3, "<=", RY_EXPR_le}, {3, ">=", RY_EXPR_ge}, {3, "<", RY_EXPR_lt},
    {3, ">", RY_EXPR_gt},  {4, "+", RY_EXPR_add}, {4, "-", RY_EXPR_sub}, {5, "*", RY_EXPR_mul},
    {5, "/", RY_EXPR_div},
};
enum { LEVELS = 6, OPERATORS = sizeof operators / sizeof *operators };

static int parse_level(parser *p, int level)
{
    if (level == LEVELS) {
        return parse_unary(p);
    }
    int operand[3] = {parse_level(p, level + 1), 0, 0};
    while (p->status == RYND_OK) {
        int i = 0;
        skip_space(p);
        size_t start = p->at;
        while (i < OPERATORS && !(operators[i].level == level && accept(p, operators[i].token))) {
            i++;
        }
        if (i == OPERATORS) {
            return operand[0];
        }
        operand[1] = parse_level(p, level + 1);
        if (p->status == RYND_OK) {
            operand[0] = built(p, start, ry_expr_build(p->builder, operators[i].code, operand));
        }
    }
    return RY_EXPR_BUILD_FULL;
}

/* Returns the length of `name = ` in front of an expression, or 0. */
static size_t assigned_name(parser *p)
{
    skip_space(p);
    size_t start = p->at, length = word_length(p);
    p->at += length;
    skip_space(p);
    if (length > 0 && p->text[p->at] == '=' && p->text[p->at + 1] != '=') {
        p->at++;
        return length;
    }
    p->at = start;
    return 0;
}

static void assign(parser *p, size_t start, size_t length, int value)
{
    const char *word = p->text + start;
    int output = numbered(word, length, 'y');
    bool taken = numbered(word, length, 'x') >= 0 || word_is(word, length, "inf") ||
                 word_is(word, length, "nan");
    for (int i = 0; i < p->name_count; i++) {
        taken =
            taken || (p->names[i].length == length && memcmp(p->names[i].text, word, length) == 0);
    }
    for (int i = 0; i < p->parameter_count; i++) {
        taken = taken || word_is(word, length, p->parameters[i].name);
    }
    if (taken) {
        fail(p, start, "the name is taken");
    } else if (p->name_count == MAX_NAMES) {
        fail(p, start, "too many names");
    } else if (output >= RY_EXPR_MAX_OUTPUTS) {
        fail(p, start, "too many outputs");
    } else if (p->status == RYND_OK) {
        p->names[p->name_count++] = (name){word, length, value};
        if (output >= 0) {
            p->result[output] = value;
            *p->outputs = output >= *p->outputs ? output + 1 : *p->outputs;
        }
    }
}

static void parse_statements(parser *p)
{
    skip_space(p);
    while (p->status == RYND_OK) {
        skip_space(p);
        size_t start = p->at, length = assigned_name(p);
        if (length == 0 && p->name_count > 0) {
            fail(p, start, "expected 'name ='");
            return;
        }
        int value = parse_level(p, 0);
        if (p->status != RYND_OK) {
            return;
        }
        if (length > 0) {
            assign(p, start, length, value);
        } else {
            p->result[0] = value;
            *p->outputs = 1;
        }
        bool more = accept(p, ";");
        skip_space(p);
        if (p->text[p->at] == 0) {
            return;
        }
        if (!more || length == 0) {
            fail(p, p->at, "expected ';' or an operator");
        }
    }
}

rynd_status ry_expr_parse_into(ry_expr_builder *builder, const char *text,
                               const ry_expr_parameter *parameters, int parameter_count,
                               bool symbolic, int *result, int *outputs, ry_error *error)
{
    if (strlen(text) > MAX_LENGTH) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "an expression of more than %d characters",
                       MAX_LENGTH);
    }
    parser p = {.text = text,
                .builder = builder,
                .parameters = parameters,
                .parameter_count = parameter_count,
                .symbolic = symbolic};
    p.result = result;
    p.outputs = outputs;
    p.error = error;
    p.names = ry_allocate_array(builder->allocator, MAX_NAMES, sizeof *p.names);
    if (!p.names) {
        return ry_fail_memory(error);
    }
    *outputs = 0;
    for (int i = 0; i < RY_EXPR_MAX_OUTPUTS; i++) {
        result[i] = -1;
    }
    parse_statements(&p);
    ry_release(builder->allocator, p.names);
    RY_TRY(p.status);
    for (int i = 0; i < *outputs; i++) {
        if (result[i] < 0) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "expression: y%d is used but y%d is missing in '%.200s'", *outputs - 1,
                           i, text);
        }
    }
    if (*outputs == 0) {
        return ry_fail(error, RYND_ERROR_FORMAT, "expression: no output in '%.200s' (name it y0)",
                       text);
    }
    return RYND_OK;
}

rynd_status ry_expr_parse(const char *text, const ry_expr_parameter *parameters,
                          int parameter_count, ry_arena *arena, const ry_expr **program,
                          ry_error *error)
{
    ry_expr_builder builder;
    int result[RY_EXPR_MAX_OUTPUTS], outputs;
    *program = NULL;
    if (!ry_expr_builder_init(&builder, arena->allocator)) {
        return ry_fail_memory(error);
    }
    rynd_status status = ry_expr_parse_into(&builder, text, parameters, parameter_count, false,
                                            result, &outputs, error);
    if (status == RYND_OK) {
        status = ry_expr_builder_finish(&builder, builder.inputs, result, outputs, arena, program,
                                        error);
    }
    ry_expr_builder_free(&builder);
    return status;
}
