/* SPDX-License-Identifier: Apache-2.0 */
/* Prints programs: a statement an instruction. */
#include "kernels/gpu/expr_text.h"

#include <math.h>
#include <stdio.h>

static bool is_reduction(ry_expr_code code)
{
    return ry_expr_code_class(code) == RY_EXPR_CLASS_REDUCE;
}

static void put_value(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    const ry_dtype dtype = ry_gpu_operand_type(expr, i, 1);
    const ry_expr_instruction *last = &expr->program->code[in->operand[1]];
    const bool square = in->code == RY_EXPR_pow && ry_dtype_is_float(dtype) &&
                        last->code == RY_EXPR_constant && last->value == 2;
    char operand[3][RY_GPU_LITERAL];
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        ry_gpu_value_literal(expr, in->operand[k], ry_gpu_operand_type(expr, i, k), operand[k]);
    }
    ry_gpu_put(text, square ? "ROUNDED_PRODUCT($a, $a)" : ry_gpu_spelled(expr, in->code, dtype),
               dtype, operand);
}

/* const float v7 = v5 * v6; */
static void put_statement(ry_text *text, const ry_gpu_expr *expr, int i)
{
    const ry_expr_instruction *in = &expr->program->code[i];
    ry_text_add(text, "    const %s v%d = ", ry_gpu_register_type(expr->types[i]), i);
    if (in->code == RY_EXPR_input) {
        ry_text_add(text, "x.x%d", in->index);
    } else if (in->code == RY_EXPR_cast || in->code == RY_EXPR_saturate) {
        ry_gpu_put_cast(text, expr, i);
    } else {
        put_value(text, expr, i);
    }
    ry_text_add(text, ";\n");
}

/* Which are made of constants alone? Both sides of a reduction may use them. */
static void find_fixed(const ry_expr *program, bool *fixed)
{
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        fixed[i] = in->code != RY_EXPR_input && !is_reduction(in->code);
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            fixed[i] = fixed[i] && fixed[in->operand[k]];
        }
    }
}

static void put_outputs(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs,
                        bool behind)
{
    const ry_expr *program = expr->program;
    for (int o = 0; o < program->outputs; o++) {
        char value[RY_GPU_LITERAL];
        if (program->reduced[program->result[o]] == behind) {
            ry_gpu_value_literal(expr, program->result[o], outputs[o], value);
            ry_text_add(text, "    y->y%d = %s;\n", o, value);
        }
    }
}

static void put_front(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs)
{
    const ry_expr *program = expr->program;
    ry_text_add(text, "FUNCTION void front(const program_inputs x, program_outputs *y, "
                      "program_sums *t)\n{\n");
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        char value[RY_GPU_LITERAL];
        if (is_reduction(in->code)) {
            ry_gpu_value_literal(expr, in->operand[0], expr->types[i], value);
            ry_text_add(text, "    t->s%d = %s;\n", i, value);
        } else if (in->code != RY_EXPR_constant && !program->reduced[i]) {
            put_statement(text, expr, i);
        }
    }
    put_outputs(text, expr, outputs, false);
    ry_text_add(text, "}\n");
}

/* Means of integers are sums in 64 bits. */
static ry_dtype sum_type(const ry_gpu_expr *expr, int i)
{
    const ry_dtype dtype = expr->types[i];
    if (ry_dtype_is_float(dtype) || expr->program->code[i].code != RY_EXPR_mean) {
        return dtype;
    }
    return ry_dtype_get_kind(dtype) == RY_KIND_SIGNED ? RY_i64 : RY_u64;
}

static void put_join(ry_text *text, const ry_gpu_expr *expr)
{
    ry_text_add(text, "FUNCTION void join(program_sums *t, const program_sums *with)\n{\n");
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        const ry_dtype dtype = sum_type(expr, i);
        char operand[3][RY_GPU_LITERAL];
        if (is_reduction(code)) {
            snprintf(operand[0], RY_GPU_LITERAL, "t->s%d", i);
            snprintf(operand[1], RY_GPU_LITERAL, "with->s%d", i);
            ry_text_add(text, "    t->s%d = ", i);
            ry_gpu_put(text, ry_gpu_spelled(expr, code, dtype), dtype, operand);
            ry_text_add(text, ";\n");
        }
    }
    ry_text_add(text, "}\n");
}

/* What nothing reduces to. */
static double identity(ry_expr_code code)
{
    return code == RY_EXPR_prod         ? 1
           : code == RY_EXPR_reduce_min ? (double)INFINITY
           : code == RY_EXPR_reduce_max ? -(double)INFINITY
                                        : 0;
}

static void put_begin(ry_text *text, const ry_gpu_expr *expr)
{
    ry_text_add(text, "FUNCTION void begin(program_sums *t)\n{\n");
    for (int i = 0; i < expr->program->count; i++) {
        const ry_expr_code code = expr->program->code[i].code;
        char value[RY_GPU_LITERAL];
        if (is_reduction(code)) {
            if (sum_type(expr, i) == RY_bool) {
                snprintf(value, sizeof value, "%d", identity(code) > 0);
            } else {
                ry_gpu_number_literal(sum_type(expr, i), identity(code), value);
            }
            ry_text_add(text, "    t->s%d = %s;\n", i, value);
        }
    }
    ry_text_add(text, "}\n");
}

static void put_total(ry_text *text, const ry_gpu_expr *expr, int i, int64_t divisor)
{
    const char *type = ry_gpu_register_type(expr->types[i]);
    const bool mean = expr->program->code[i].code == RY_EXPR_mean;
    ry_text_add(text, "    const %s v%d = ", type, i);
    if (!mean) {
        ry_text_add(text, "t.s%d;\n", i);
    } else if (ry_dtype_is_float(expr->types[i])) {
        ry_text_add(text, "t.s%d / (%s)%lld;\n", i, type, (long long)divisor);
    } else if (divisor == 0) {
        ry_text_add(text, "0;\n");
    } else {
        ry_text_add(text, "(%s)(t.s%d / %lld);\n", type, i, (long long)divisor);
    }
}

static void put_behind(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs,
                       int64_t divisor)
{
    const ry_expr *program = expr->program;
    bool fixed[RY_EXPR_MAX_INSTRUCTIONS];
    find_fixed(program, fixed);
    ry_text_add(text, "FUNCTION void behind(const program_sums t, program_outputs *y)\n{\n");
    for (int i = 0; i < program->count; i++) {
        const ry_expr_code code = program->code[i].code;
        if (is_reduction(code)) {
            put_total(text, expr, i, divisor);
        } else if (code != RY_EXPR_constant && (program->reduced[i] || fixed[i])) {
            put_statement(text, expr, i);
        }
    }
    put_outputs(text, expr, outputs, true);
    ry_text_add(text, "}\n");
}

static void put_types(ry_text *text, const ry_gpu_expr *expr, const ry_dtype *outputs)
{
    const ry_expr *program = expr->program;
    ry_text_add(text, "typedef struct {\n    int none;\n");
    for (int i = 0; i < program->count; i++) {
        if (program->code[i].code == RY_EXPR_input) {
            ry_text_add(text, "    %s x%d;\n", ry_gpu_register_type(expr->types[i]),
                        program->code[i].index);
        }
    }
    ry_text_add(text, "} program_inputs;\ntypedef struct {\n");
    for (int o = 0; o < program->outputs; o++) {
        ry_text_add(text, "    %s y%d;\n", ry_gpu_register_type(outputs[o]), o);
    }
    ry_text_add(text, "} program_outputs;\ntypedef struct {\n");
    for (int i = 0; i < program->count; i++) {
        if (is_reduction(program->code[i].code)) {
            ry_text_add(text, "    %s s%d;\n", ry_gpu_register_type(sum_type(expr, i)), i);
        }
    }
    ry_text_add(text, "%s} program_sums;\n", program->reduces ? "" : "    int none;\n");
}

void ry_gpu_expr_program(const ry_gpu_expr *expr, const ry_dtype *outputs, int64_t divisor,
                         ry_text *text)
{
    put_types(text, expr, outputs);
    put_front(text, expr, outputs);
    if (expr->program->reduces) {
        put_begin(text, expr);
        put_join(text, expr);
        put_behind(text, expr, outputs, divisor);
    }
}

int ry_gpu_expr_sums(const ry_expr *program)
{
    int sums = 0;
    for (int i = 0; i < program->count; i++) {
        sums += is_reduction(program->code[i].code);
    }
    return sums;
}

/* ---- activations ---- */

static const char *const activation_texts[RY_activation_count] = {
#define RY_ACTIVATION(name, text) [RY_activation_##name] = text,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

static rynd_status put_activation(ry_text *text, ry_activation activation, float alpha, float beta,
                                  ry_arena *arena)
{
    const ry_expr_parameter numbers[] = {{"a", (double)alpha}, {"b", (double)beta}};
    const ry_dtype input = RY_f32;
    const ry_expr *program = NULL;
    ry_error error;
    RY_TRY(ry_expr_parse(activation_texts[activation], numbers, 2, arena, &program, &error));
    ry_dtype *dtypes = RY_TAKE(arena, ry_dtype, program->count);
    if (!dtypes) {
        return ry_fail_memory(&error);
    }
    RY_TRY(ry_expr_types(program, &input, dtypes, &error));
    const ry_gpu_expr expr = {program, dtypes, .near = true};
    char value[RY_GPU_LITERAL];
    ry_gpu_expr_functions(&expr, text);
    ry_text_add(text,
                "FUNCTION float activate(float x0)\n{\n    struct {\n        float x0;\n    } x;\n"
                "    x.x0 = x0;\n");
    for (int i = 0; i < program->count; i++) {
        if (program->code[i].code != RY_EXPR_constant) {
            put_statement(text, &expr, i);
        }
    }
    ry_gpu_value_literal(&expr, program->result[0], RY_f32, value);
    ry_text_add(text, "    return %s;\n}\n", value);
    return RYND_OK;
}

void ry_gpu_activation(ry_text *text, ry_activation activation, float alpha, float beta)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    if (put_activation(text, activation, alpha, beta, &arena) != RYND_OK) {
        text->failed = true; /* memory is out: the texts are right */
    }
    ry_arena_free(&arena);
}
