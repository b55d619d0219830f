/* SPDX-License-Identifier: Apache-2.0 */
/* Compiles a program to the evaluator's steps: registers, buffers reused as soon as their values
 * are dead, single values computed once. */
#include "kernels/cpu/expr/expr_fuse.h"

#include <assert.h>
#include <string.h>

/* Register i is instruction i; further ones hold constants (one for each use's type) and expanded
 * values. */

typedef struct compiler {
    ry_expr_plan *plan;
    const ry_expr *program;
    const ry_dtype *types;
    ry_expr_operand *operand;
    ry_expr_step *step;
    ry_expr_register *reg;
    ry_expr_number *number;
    ry_expr_reduction *reduction;
    uint16_t *last_use;
    uint8_t *busy; /* whether each buffer is in use */
    int steps;
    double cost;
} compiler;

static uint8_t loop_type(ry_dtype dtype)
{
    return (uint8_t)ry_expr_loop_type(dtype);
}

static bool is_fixed(const compiler *c, int i)
{
    return c->reg[i].storage == RY_STORAGE_SINGLE && c->last_use[i] == UINT16_MAX;
}

static uint16_t new_buffer(compiler *c)
{
    int at = 0;
    while (at < c->plan->buffers && c->busy[at]) {
        at++;
    }
    c->plan->buffers = at == c->plan->buffers ? at + 1 : c->plan->buffers;
    c->busy[at] = 1;
    return (uint16_t)at;
}

static ry_expr_register in_buffer(compiler *c, uint8_t type)
{
    uint32_t size = ry_expr_loop_size((ry_loop_type)type);
    c->plan->element = size > c->plan->element ? size : c->plan->element;
    return (ry_expr_register){RY_STORAGE_BUFFER, type, new_buffer(c)};
}

static ry_expr_register in_single(compiler *c, uint8_t type)
{
    return (ry_expr_register){RY_STORAGE_SINGLE, type, (uint16_t)c->plan->singles++};
}

static void release(compiler *c, int reg)
{
    if (c->reg[reg].storage == RY_STORAGE_BUFFER) {
        c->busy[c->reg[reg].at] = 0;
    }
}

static ry_expr_step *emit(compiler *c, ry_expr_step_kind kind, uint8_t type, int y, int a)
{
    ry_expr_step *step = &c->step[c->steps++];
    /* an operand that the step lacks is no other register */
    *step = (ry_expr_step){.kind = (uint8_t)kind,
                           .type = type,
                           .y = (uint16_t)y,
                           .a = (uint16_t)a,
                           .b = (uint16_t)a,
                           .c = (uint16_t)a};
    return step;
}

static int number_register(compiler *c, int instruction, uint8_t type)
{
    double value = c->program->code[instruction].value;
    for (int i = 0; i < c->plan->numbers; i++) {
        if (c->number[i].type == type && ry_expr_same_number(c->number[i].value, value)) {
            return c->number[i].reg;
        }
    }
    int reg = c->plan->registers++;
    c->reg[reg] = in_single(c, type);
    c->number[c->plan->numbers++] = (ry_expr_number){(uint16_t)reg, type, value};
    return reg;
}

static bool is_result(const compiler *c, int i)
{
    for (int o = 0; o < c->program->outputs; o++) {
        if (c->program->result[o] == i) {
            return true;
        }
    }
    return false;
}

static bool is_half(ry_dtype dtype)
{
    return dtype == RY_f16 || dtype == RY_bf16;
}

/* A cast to the type that the loops have already: f16 and bf16 are widened when they are read. */
static bool changes_nothing(const compiler *c, int i)
{
    const ry_expr_instruction *in = &c->program->code[i];
    const ry_dtype from = c->types[in->operand[0]];
    return in->code == RY_EXPR_cast && c->program->code[in->operand[0]].code != RY_EXPR_constant &&
           (from == in->dtype ? !is_half(from) : in->dtype == RY_f32 && is_half(from)) &&
           !is_result(c, i);
}

/* The instruction whose value i has: i itself, or the operand of a copy or no-op. */
static int source_of(const compiler *c, int i)
{
    while (changes_nothing(c, i)) {
        i = c->program->code[i].operand[0];
    }
    return i;
}

/* The register of an operand, loaded if it is an input met for the first time. */
static int value_of(compiler *c, int instruction, ry_dtype dtype)
{
    instruction = source_of(c, instruction);
    const ry_expr_instruction *in = &c->program->code[instruction];
    if (in->code == RY_EXPR_constant) {
        return number_register(c, instruction, loop_type(dtype));
    }
    if (in->code != RY_EXPR_input || c->reg[instruction].type != UINT8_MAX) {
        return instruction;
    }
    const ry_expr_operand *operand = &c->operand[in->index];
    c->reg[instruction] =
        operand->mode == RY_EXPR_SINGLE ? in_single(c, operand->type) : in_buffer(c, operand->type);
    emit(c, RY_STEP_LOAD, operand->type, instruction, in->index)->single =
        operand->mode == RY_EXPR_SINGLE;
    return instruction;
}

/* A buffer full of a single value; `made` says that it must be released. */
static int expanded(compiler *c, int reg, bool *made)
{
    *made = c->reg[reg].storage == RY_STORAGE_SINGLE;
    if (!*made) {
        return reg;
    }
    int full = c->plan->registers++;
    c->reg[full] = in_buffer(c, c->reg[reg].type);
    emit(c, RY_STEP_EXPAND, c->reg[reg].type, full, reg);
    return full;
}

static void store(compiler *c, int output, int reg)
{
    ry_expr_operand *operand = &c->operand[c->plan->inputs + output];
    bool made;
    int full = expanded(c, reg, &made);
    emit(c, RY_STEP_STORE, operand->type, c->plan->inputs + output, full);
    operand->mode = operand->mode == RY_EXPR_DIRECT ? RY_EXPR_GATHERED : operand->mode;
    if (made) {
        release(c, full);
    }
}

/* The output that instruction i can write in place, or -1. */
static int direct_output(const compiler *c, int i)
{
    for (int o = 0; o < c->plan->outputs; o++) {
        if (c->program->result[o] == i && c->operand[c->plan->inputs + o].mode == RY_EXPR_DIRECT) {
            return o;
        }
    }
    return -1;
}

static ry_dtype operand_type(const compiler *c, int i, int k)
{
    const ry_expr_instruction *in = &c->program->code[i];
    switch (ry_expr_code_class(in->code)) {
    case RY_EXPR_CLASS_LOGIC: return RY_bool;
    case RY_EXPR_CLASS_SELECT: return k == 0 ? RY_bool : c->types[i];
    case RY_EXPR_CLASS_BOOL: {
        bool first = ry_expr_code_operands(in->code) < 2 ||
                     c->program->code[in->operand[0]].code != RY_EXPR_constant;
        return c->types[in->operand[first ? 0 : 1]];
    }
    case RY_EXPR_CLASS_NONE:
        return c->program->code[in->operand[0]].code == RY_EXPR_constant ? RY_f64
                                                                         : c->types[in->operand[0]];
    default: return c->types[i];
    }
}

static void add_cost(compiler *c, ry_expr_code code, uint8_t type)
{
    bool dear = (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh) || code == RY_EXPR_pow ||
                code == RY_EXPR_mod || code == RY_EXPR_fmod;
    c->cost += dear ? (type == RY_LOOP_f32 ? 8 : 40) : 1;
}

static void emit_cast(compiler *c, int i, int y, int a, bool single)
{
    const ry_expr_instruction *in = &c->program->code[i];
    uint8_t from = c->reg[a].type, to = loop_type(in->dtype);
    bool half = in->code == RY_EXPR_cast && is_half(in->dtype), made = half && from != RY_LOOP_f32;
    if (made) {
        int wide = c->plan->registers++;
        c->reg[wide] = single ? in_single(c, RY_LOOP_f32) : in_buffer(c, RY_LOOP_f32);
        ry_expr_step *step = emit(c, RY_STEP_CAST, from, wide, a);
        step->code = RY_LOOP_f32;
        step->single = single;
        a = wide;
    }
    ry_expr_step_kind kind = half                       ? RY_STEP_ROUND
                             : in->dtype == RY_bool     ? RY_STEP_TRUTH
                             : in->code == RY_EXPR_cast ? RY_STEP_CAST
                                                        : RY_STEP_SATURATE;
    ry_expr_step *step = emit(c, kind, half ? RY_LOOP_f32 : from, y, a);
    step->code = half ? (uint16_t)in->dtype : to;
    step->single = single;
    if (made) {
        release(c, a);
    }
}

static void emit_code(compiler *c, int i, const int *value, uint8_t type, bool single)
{
    const ry_expr_instruction *in = &c->program->code[i];
    ry_expr_code code = in->code;
    int operands = ry_expr_code_operands(code), at[3] = {value[0], value[1], value[2]};
    bool made[3] = {false, false, false}, scalar = false;
    assert(operands <= 3);
    if (!single && operands == 2) {
        bool a = c->reg[at[0]].storage == RY_STORAGE_SINGLE,
             square = code == RY_EXPR_pow &&
                      c->program->code[in->operand[1]].code == RY_EXPR_constant &&
                      c->program->code[in->operand[1]].value == 2;
        if (square && !a) { /* models write x * x like this */
            code = RY_EXPR_mul;
            at[1] = at[0];
        } else if (a && ry_expr_code_swapped(code) != RY_EXPR_none) {
            code = ry_expr_code_swapped(code);
            at[0] = value[1];
            at[1] = value[0];
        }
        scalar = c->reg[at[1]].storage == RY_STORAGE_SINGLE;
    }
    for (int k = 0; k < operands && !single; k++) {
        if (!(scalar && k == 1)) {
            at[k] = expanded(c, at[k], &made[k]);
        }
    }
    ry_expr_step *step = emit(c, scalar ? RY_STEP_SCALAR : RY_STEP_VECTOR, type, i, at[0]);
    step->code = (uint16_t)code;
    step->single = single;
    step->b = (uint16_t)at[operands > 1 ? 1 : 0];
    step->c = (uint16_t)at[operands > 2 ? 2 : 0];
    for (int k = 0; k < operands; k++) {
        if (made[k]) {
            release(c, at[k]);
        }
    }
}

static void emit_reduction(compiler *c, int i, int value)
{
    ry_expr_code code = c->program->code[i].code;
    bool made;
    int full = expanded(c, value, &made);
    ry_expr_reduction *reduction = &c->reduction[c->plan->reductions];
    *reduction = (ry_expr_reduction){.reg = (uint16_t)i,
                                     .type = c->reg[full].type,
                                     .mean = code == RY_EXPR_mean,
                                     .truth = c->types[i] == RY_bool};
    reduction->reducer = code == RY_EXPR_prod         ? RY_REDUCE_prod
                         : code == RY_EXPR_reduce_min ? RY_REDUCE_min
                         : code == RY_EXPR_reduce_max ? RY_REDUCE_max
                                                      : RY_REDUCE_sum;
    emit(c, RY_STEP_REDUCE, reduction->type, c->plan->reductions++, full);
    if (made) {
        release(c, full);
    }
}

/* A cast to f16 or bf16 that nobody but outputs reads. */
static bool is_rounded_by_store(const compiler *c, int i, int from)
{
    const ry_expr_instruction *in = &c->program->code[i];
    return in->code == RY_EXPR_cast && is_half(in->dtype) && c->reg[from].type == RY_LOOP_f32 &&
           c->last_use[i] == i && is_result(c, i);
}

static void store_all(compiler *c, int i, int reg)
{
    for (int o = 0; o < c->plan->outputs; o++) {
        if (c->program->result[o] == i) {
            store(c, o, reg);
        }
    }
}

/* Compiles one instruction: registers of operands and result, steps, and stores of the outputs it
 * computes. */
static void compile_instruction(compiler *c, int i)
{
    const ry_expr_instruction *in = &c->program->code[i];
    ry_expr_class class = ry_expr_code_class(in->code);
    int value[3] = {0, 0, 0}, operands = ry_expr_code_operands(in->code);
    bool single = true;
    for (int k = 0; k < operands; k++) {
        value[k] = value_of(c, in->operand[k], operand_type(c, i, k));
        single = single && c->reg[value[k]].storage == RY_STORAGE_SINGLE;
    }
    add_cost(c, in->code, operands > 0 ? c->reg[value[0]].type : (uint8_t)RY_LOOP_f32);
    const bool stored = !single && is_rounded_by_store(c, i, value[0]);
    if (class == RY_EXPR_CLASS_REDUCE) {
        emit_reduction(c, i, value[0]);
    } else if (stored) {
        store_all(c, i, value[0]);
    } else {
        uint8_t type = loop_type(c->types[i]);
        int output = single ? -1 : direct_output(c, i);
        c->reg[i] = single        ? in_single(c, type)
                    : output >= 0 ? (ry_expr_register){RY_STORAGE_MEMORY, type,
                                                       (uint16_t)(c->plan->inputs + output)}
                                  : in_buffer(c, type);
        if (output >= 0) {
            c->operand[c->plan->inputs + output].reg = (uint16_t)i;
        }
        if (class == RY_EXPR_CLASS_NONE) {
            emit_cast(c, i, i, value[0], single);
        } else {
            emit_code(c, i, value, c->reg[value[class == RY_EXPR_CLASS_SELECT ? 1 : 0]].type,
                      single);
        }
        for (int o = 0; o < c->plan->outputs; o++) {
            if (c->program->result[o] == i && o != output && c->last_use[i] != UINT16_MAX) {
                store(c, o, i);
            }
        }
    }
    for (int k = 0; k < operands; k++) {
        const int source = source_of(c, in->operand[k]);
        if (c->last_use[source] == i && value[k] == source) {
            release(c, value[k]);
        }
    }
    if (c->last_use[i] == i && class != RY_EXPR_CLASS_REDUCE && !stored) {
        release(c, i);
    }
}

/* last_use: the last instruction that reads each; UINT16_MAX for what depends on constants alone
 * and is kept. */
static void find_uses(compiler *c)
{
    for (int i = 0; i < c->program->count; i++) {
        const ry_expr_instruction *in = &c->program->code[i];
        int operands = ry_expr_code_operands(in->code);
        bool fixed =
            in->code != RY_EXPR_input && ry_expr_code_class(in->code) != RY_EXPR_CLASS_REDUCE;
        c->last_use[i] = (uint16_t)i;
        for (int k = 0; k < operands; k++) {
            fixed = fixed && c->last_use[source_of(c, in->operand[k])] == UINT16_MAX;
        }
        for (int k = 0; k < operands && !fixed; k++) {
            uint16_t *last = &c->last_use[source_of(c, in->operand[k])];
            *last = *last == UINT16_MAX ? UINT16_MAX : (uint16_t)i;
        }
        c->last_use[i] = fixed ? UINT16_MAX : (uint16_t)i;
    }
    for (int o = 0; o < c->plan->outputs; o++) {
        uint16_t *last = &c->last_use[c->program->result[o]];
        if (c->program->code[c->program->result[o]].code == RY_EXPR_input) {
            *last = UINT16_MAX - 1;
        }
    }
}

static void bind_inputs(compiler *c)
{
    for (int i = 0; i < c->program->count; i++) {
        c->reg[i] = (ry_expr_register){.type = UINT8_MAX};
        if (c->program->code[i].code != RY_EXPR_input) {
            continue;
        }
        ry_expr_operand *operand = &c->operand[c->program->code[i].index];
        operand->reg = (uint16_t)i;
        if (operand->mode == RY_EXPR_DIRECT) {
            c->reg[i] =
                (ry_expr_register){RY_STORAGE_MEMORY, operand->type, c->program->code[i].index};
        } else if (operand->mode == RY_EXPR_INVARIANT) {
            c->reg[i] = in_buffer(c, operand->type);
            c->last_use[i] = UINT16_MAX - 1;
        }
    }
}

/* Outputs that are a plain input, a constant, or made of constants. */
static void store_plain(compiler *c)
{
    for (int o = 0; o < c->plan->outputs; o++) {
        int i = c->program->result[o];
        ry_expr_code code = c->program->code[i].code;
        if (code == RY_EXPR_input || code == RY_EXPR_constant || is_fixed(c, i)) {
            store(c, o, value_of(c, i, (ry_dtype)c->operand[c->plan->inputs + o].dtype));
        }
    }
}

static void compile_pass(compiler *c, bool fixed, bool behind)
{
    for (int i = 0; i < c->program->count; i++) {
        ry_expr_code code = c->program->code[i].code;
        bool reduction = ry_expr_code_class(code) == RY_EXPR_CLASS_REDUCE;
        if (code != RY_EXPR_input && code != RY_EXPR_constant && !changes_nothing(c, i) &&
            (c->last_use[i] == UINT16_MAX) == fixed &&
            (c->program->reduced[i] && !reduction) == behind) {
            compile_instruction(c, i);
        }
    }
}

double ry_expr_compile(ry_expr_plan *plan, const ry_expr *program, const ry_dtype *types)
{
    compiler c = {.plan = plan, .program = program, .types = types, .cost = 1};
    c.operand = ry_expr_plan_part(plan, plan->operands_at);
    c.step = ry_expr_plan_part(plan, plan->steps_at);
    c.reg = ry_expr_plan_part(plan, plan->registers_at);
    c.number = ry_expr_plan_part(plan, plan->numbers_at);
    c.reduction = ry_expr_plan_part(plan, plan->reductions_at);
    c.last_use = ry_expr_plan_part(plan, plan->last_use_at);
    c.busy = ry_expr_plan_part(plan, plan->busy_at);
    plan->registers = program->count;
    plan->element = 1;
    find_uses(&c);
    bind_inputs(&c);
    int kept_buffers = plan->buffers;
    compile_pass(&c, true, false);
    plan->first_steps = c.steps;
    compile_pass(&c, false, false);
    store_plain(&c);
    plan->steps = c.steps - plan->first_steps;
    ry_expr_fuse(plan, c.step + plan->first_steps, &plan->steps);
    c.steps = plan->first_steps + plan->steps;
    memset(c.busy + kept_buffers, 0,
           (size_t)(plan->buffers > kept_buffers ? plan->buffers - kept_buffers : 0));
    for (int r = 0; r < plan->reductions; r++) {
        c.reg[c.reduction[r].reg] = in_buffer(&c, c.reduction[r].type);
    }
    for (int o = 0; o < plan->outputs; o++) {
        if (ry_expr_code_class(program->code[program->result[o]].code) == RY_EXPR_CLASS_REDUCE) {
            store(&c, o, program->result[o]);
        }
    }
    compile_pass(&c, false, true);
    plan->last_steps = c.steps - plan->first_steps - plan->steps;
    return c.cost;
}
