/* SPDX-License-Identifier: Apache-2.0 */
/* Prints programs: operators with the fewest parentheses, what is used twice under a name (t0, t1,
 * ...). */
#include "expr/expr.h"

#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Deeper terms get a name of their own, so that any program parses back within RY_EXPR_MAX_DEPTH.
 */
#define NAME_DEPTH 32

typedef struct printer {
    const ry_expr *program;
    const int *name; /* the k of each instruction's name tk, or -1 */
    ry_arena *arena;
    char *text;
    size_t used, capacity;
    bool failed;
} printer;

static void put(printer *p, const char *text)
{
    for (; *text && !p->failed; text++) {
        char *grown = ry_arena_grow(p->arena, p->text, p->used, &p->capacity, 1);
        p->failed = !grown;
        if (grown) {
            p->text = grown;
            p->text[p->used++] = *text;
        }
    }
}

/* The shortest decimal that reads back as the same number; whole ones without an exponent. */
static void put_number(printer *p, double value)
{
    char text[RY_NUMBER_SIZE];
    if (value == floor(value) && fabs(value) < 1e15) {
        ry_number_print_fixed(value, 0, text);
    } else {
        ry_number_print(value, text);
    }
    put(p, text);
}

typedef struct symbol {
    const char *text;
    int level; /* precedence, as in the parser */
} symbol;

static symbol symbol_of(ry_expr_code code)
{
    switch (code) {
    case RY_EXPR_or: return (symbol){" | ", 0};
    case RY_EXPR_xor: return (symbol){" ^ ", 1};
    case RY_EXPR_and: return (symbol){" & ", 2};
    case RY_EXPR_eq: return (symbol){" == ", 3};
    case RY_EXPR_ne: return (symbol){" != ", 3};
    case RY_EXPR_lt: return (symbol){" < ", 3};
    case RY_EXPR_le: return (symbol){" <= ", 3};
    case RY_EXPR_gt: return (symbol){" > ", 3};
    case RY_EXPR_ge: return (symbol){" >= ", 3};
    case RY_EXPR_add: return (symbol){" + ", 4};
    case RY_EXPR_sub: return (symbol){" - ", 4};
    case RY_EXPR_mul: return (symbol){" * ", 5};
    case RY_EXPR_div: return (symbol){" / ", 5};
    case RY_EXPR_neg: return (symbol){"-", 6};
    case RY_EXPR_not: return (symbol){"!", 6};
    default: return (symbol){NULL, 7};
    }
}

static void put_term(printer *p, int at, int level);

static void put_definition(printer *p, int at, int level)
{
    const ry_expr_instruction *in = &p->program->code[at];
    symbol sign = symbol_of(in->code);
    char text[32];
    if (in->code == RY_EXPR_input) {
        snprintf(text, sizeof text, "x%d", in->index);
        put(p, text);
    } else if (in->code == RY_EXPR_constant) {
        put_number(p, in->value);
    } else if (sign.text) {
        bool binary = ry_expr_code_operands(in->code) == 2;
        put(p, sign.level < level ? "(" : "");
        if (binary) {
            put_term(p, in->operand[0], sign.level);
        }
        put(p, sign.text);
        put_term(p, in->operand[binary ? 1 : 0], binary ? sign.level + 1 : sign.level);
        put(p, sign.level < level ? ")" : "");
    } else {
        put(p, ry_expr_code_name(in->code));
        put(p, "(");
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            put(p, k ? ", " : "");
            put_term(p, in->operand[k], 0);
        }
        if (in->code == RY_EXPR_cast || in->code == RY_EXPR_saturate) {
            put(p, ", ");
            put(p, ry_dtype_name(in->dtype));
        }
        put(p, ")");
    }
}

static void put_term(printer *p, int at, int level)
{
    if (p->name[at] >= 0) {
        char text[32];
        snprintf(text, sizeof text, "t%d", p->name[at]);
        put(p, text);
    } else {
        put_definition(p, at, level);
    }
}

/* Names for what is used more than once and for what is stored deep. Gives their number. */
static int choose_names(const ry_expr *program, int *name, int *uses, int *depth)
{
    int names = 0;
    for (int i = 0; i < program->count; i++) {
        for (int k = 0; k < ry_expr_code_operands(program->code[i].code); k++) {
            uses[program->code[i].operand[k]]++;
        }
    }
    for (int i = 0; i < program->outputs; i++) {
        uses[program->result[i]]++;
    }
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        bool leaf = in->code == RY_EXPR_input || in->code == RY_EXPR_constant;
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            int below = depth[in->operand[k]] + 1;
            depth[i] = below > depth[i] ? below : depth[i];
        }
        name[i] = !leaf && (uses[i] > 1 || depth[i] > NAME_DEPTH) ? names++ : -1;
        depth[i] = name[i] >= 0 ? 0 : depth[i];
    }
    return names;
}

const char *ry_expr_print(const ry_expr *program, ry_arena *arena)
{
    size_t count = (size_t)program->count;
    int *name = ry_allocate_array(arena->allocator, 3 * count, sizeof *name);
    if (!name) {
        return NULL;
    }
    int names = choose_names(program, name, name + count, name + 2 * count);
    printer p = {.program = program, .name = name, .arena = arena};
    char text[32];
    int used = 0;
    for (int i = 0; i < program->count; i++) {
        used = program->code[i].code == RY_EXPR_input && program->code[i].index >= used
                   ? program->code[i].index + 1
                   : used;
    }
    /* the last input is not used: it is named, so that it is there when the text is read */
    if (used < program->inputs) {
        snprintf(text, sizeof text, "unused = x%d; ", program->inputs - 1);
        put(&p, text);
        names++;
    }
    for (int i = 0; i < program->count; i++) {
        if (name[i] >= 0) {
            snprintf(text, sizeof text, "t%d = ", name[i]);
            put(&p, text);
            put_definition(&p, i, 0);
            put(&p, "; ");
        }
    }
    for (int i = 0; i < program->outputs; i++) {
        if (names > 0 || program->outputs > 1) {
            snprintf(text, sizeof text, "%sy%d = ", i ? "; " : "", i);
            put(&p, text);
        }
        put_term(&p, program->result[i], 0);
    }
    ry_release(arena->allocator, name);
    return p.failed ? NULL : ry_arena_string(arena, p.text, p.used);
}
