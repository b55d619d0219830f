/* SPDX-License-Identifier: Apache-2.0 */
/* Builds programs: hash-consing, constant folding, canonical order. */
#include "expr/expr_build.h"

#include "base/float_bits.h"
#include <assert.h>
#include <math.h>
#include <string.h>

bool ry_expr_builder_init(ry_expr_builder *builder, const ry_allocator *allocator)
{
    *builder = (ry_expr_builder){.allocator = allocator, .capacity = RY_EXPR_MAX_INSTRUCTIONS};
    size_t capacity = RY_EXPR_MAX_INSTRUCTIONS;
    builder->code = ry_allocate_array(allocator, capacity, sizeof *builder->code);
    builder->side = ry_allocate_array(allocator, capacity, sizeof *builder->side);
    builder->next = ry_allocate_array(allocator, capacity, sizeof *builder->next);
    builder->bucket = ry_allocate_array(allocator, RY_EXPR_BUCKETS, sizeof *builder->bucket);
    if (!builder->code || !builder->side || !builder->next || !builder->bucket) {
        ry_expr_builder_free(builder);
        return false;
    }
    return true;
}

void ry_expr_builder_free(ry_expr_builder *builder)
{
    ry_release(builder->allocator, builder->code);
    ry_release(builder->allocator, builder->side);
    ry_release(builder->allocator, builder->next);
    ry_release(builder->allocator, builder->bucket);
    *builder = (ry_expr_builder){.allocator = builder->allocator};
}

/* splitmix64's finaliser (Steele, Lea, Flood 2014) over a running sum. */
static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash += value + 0x9e3779b97f4a7c15u;
    hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
    return hash ^ (hash >> 31);
}

static uint64_t instruction_hash(const ry_expr_instruction *in)
{
    uint64_t hash = mix((uint64_t)in->code, (uint64_t)in->dtype << 16 | in->index);
    hash =
        mix(hash, (uint64_t)in->operand[0] << 32 | (uint64_t)in->operand[1] << 16 | in->operand[2]);
    return mix(hash, ry_f64_bits(in->value));
}

static bool instruction_equal(const ry_expr_instruction *a, const ry_expr_instruction *b)
{
    return a->code == b->code && a->dtype == b->dtype && a->index == b->index &&
           memcmp(a->operand, b->operand, sizeof a->operand) == 0 &&
           ry_expr_same_number(a->value, b->value);
}

static int intern(ry_expr_builder *builder, const ry_expr_instruction *instruction, uint8_t side)
{
    uint16_t *bucket = &builder->bucket[instruction_hash(instruction) % RY_EXPR_BUCKETS];
    for (int i = *bucket; i; i = builder->next[i - 1]) {
        if (instruction_equal(&builder->code[i - 1], instruction)) {
            return i - 1;
        }
    }
    if (builder->count == builder->capacity) {
        return RY_EXPR_BUILD_FULL;
    }
    int at = builder->count++;
    builder->code[at] = *instruction;
    builder->side[at] = side;
    builder->next[at] = *bucket;
    *bucket = (uint16_t)(at + 1);
    return at;
}

int ry_expr_build_input(ry_expr_builder *builder, int index)
{
    ry_expr_instruction instruction = {.code = RY_EXPR_input, .index = (uint16_t)index};
    builder->inputs = index >= builder->inputs ? index + 1 : builder->inputs;
    return intern(builder, &instruction, RY_EXPR_UNREDUCED);
}

int ry_expr_build_constant(ry_expr_builder *builder, double value)
{
    ry_expr_instruction instruction = {.code = RY_EXPR_constant,
                                       .value = isnan(value) ? (double)NAN : value};
    return intern(builder, &instruction, RY_EXPR_FREE);
}

int ry_expr_build_parameter(ry_expr_builder *builder, int index)
{
    ry_expr_instruction instruction = {.code = RY_EXPR_parameter, .index = (uint16_t)index};
    return intern(builder, &instruction, RY_EXPR_FREE);
}

int ry_expr_build_cast(ry_expr_builder *builder, ry_expr_code code, ry_dtype dtype, int operand)
{
    if (operand < 0) {
        return operand;
    }
    ry_expr_instruction instruction = {
        .code = code, .dtype = dtype, .operand = {(uint16_t)operand}};
    return intern(builder, &instruction, builder->side[operand]);
}

bool ry_expr_commutes(ry_expr_code code)
{
    return ry_expr_code_swapped(code) == code;
}

static int kind_rank(ry_expr_code code)
{
    return code == RY_EXPR_input       ? 0
           : code == RY_EXPR_constant  ? 3
           : code == RY_EXPR_parameter ? 2
                                       : 1;
}

/* A total order by structure alone (not by number): inputs, then functions, then constants. Equal
 * subexpressions have equal numbers, so it is enough to follow the first operand that differs. */
static int order(const ry_expr_instruction *code, int a, int b)
{
    while (a != b) {
        const ry_expr_instruction *p = &code[a], *q = &code[b];
        int rank = kind_rank(p->code) - kind_rank(q->code);
        if (rank != 0 || p->code != q->code) {
            return rank != 0 ? rank : (int)p->code - (int)q->code;
        }
        if (p->code == RY_EXPR_constant) {
            return ry_f64_bits(p->value) < ry_f64_bits(q->value) ? -1 : 1;
        }
        if (p->index != q->index || p->dtype != q->dtype) {
            return p->index != q->index ? p->index - q->index : (int)p->dtype - (int)q->dtype;
        }
        int k = p->operand[0] != q->operand[0] ? 0 : p->operand[1] != q->operand[1] ? 1 : 2;
        a = p->operand[k];
        b = q->operand[k];
    }
    return 0;
}

/* Folds a function of constants; false if an operand is not constant. */
static bool fold(ry_expr_builder *builder, ry_expr_code code, const int *operand, int operands,
                 int *result)
{
    double value[3] = {0, 0, 0};
    for (int i = 0; i < operands; i++) {
        if (builder->code[operand[i]].code != RY_EXPR_constant) {
            return false;
        }
        value[i] = builder->code[operand[i]].value;
    }
    switch (ry_expr_code_class(code)) {
    case RY_EXPR_CLASS_SAME:
    case RY_EXPR_CLASS_FLOAT:
        *result =
            ry_expr_build_constant(builder, ry_expr_scalar_f64(code, value[0], value[1], value[2]));
        return true;
    case RY_EXPR_CLASS_BITS: {
        int64_t a = ry_expr_to_int(RY_i64, value[0], false),
                b = ry_expr_to_int(RY_i64, value[1], false);
        *result = ry_expr_build_constant(builder, (double)ry_expr_scalar_int(code, RY_i64, a, b));
        return true;
    }
    case RY_EXPR_CLASS_BOOL:
        *result =
            ry_expr_build_constant(builder, ry_expr_scalar_f64(code, value[0], value[1], value[2]));
        *result = ry_expr_build_cast(builder, RY_EXPR_cast, RY_bool, *result);
        return true;
    default: return false;
    }
}

int ry_expr_build(ry_expr_builder *builder, ry_expr_code code, const int *operand)
{
    int operands = ry_expr_code_operands(code), folded;
    uint8_t side = RY_EXPR_FREE;
    assert(operands <= 3);
    for (int i = 0; i < operands; i++) {
        if (operand[i] < 0) {
            return operand[i];
        }
        uint8_t other = builder->side[operand[i]];
        if (side != RY_EXPR_FREE && other != RY_EXPR_FREE && side != other) {
            return RY_EXPR_BUILD_MIXED;
        }
        side = other != RY_EXPR_FREE ? other : side;
    }
    if (ry_expr_code_class(code) == RY_EXPR_CLASS_REDUCE) {
        if (side == RY_EXPR_REDUCED) {
            return RY_EXPR_BUILD_NESTED;
        }
        side = RY_EXPR_REDUCED;
    } else if (fold(builder, code, operand, operands, &folded)) {
        return folded;
    }
    ry_expr_instruction instruction = {.code = code};
    for (int i = 0; i < operands; i++) {
        instruction.operand[i] = (uint16_t)operand[i];
    }
    if (ry_expr_commutes(code) && order(builder->code, operand[0], operand[1]) > 0) {
        instruction.operand[0] = (uint16_t)operand[1];
        instruction.operand[1] = (uint16_t)operand[0];
    }
    return intern(builder, &instruction, side);
}

int ry_expr_build_copy(ry_expr_builder *builder, const ry_expr_instruction *instruction,
                       const int *operand, const int *input)
{
    switch (instruction->code) {
    case RY_EXPR_input: return input[instruction->index];
    case RY_EXPR_constant: return ry_expr_build_constant(builder, instruction->value);
    case RY_EXPR_cast:
    case RY_EXPR_saturate:
        return ry_expr_build_cast(builder, instruction->code, instruction->dtype, operand[0]);
    default: return ry_expr_build(builder, instruction->code, operand);
    }
}

void ry_expr_build_program(ry_expr_builder *builder, const ry_expr *program, const int *input,
                           int *map)
{
    for (int i = 0; i < program->count; i++) {
        const ry_expr_instruction *in = &program->code[i];
        int operand[3] = {0, 0, 0};
        for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
            operand[k] = map[in->operand[k]];
        }
        map[i] = ry_expr_build_copy(builder, in, operand, input);
    }
}

/* The instructions that the outputs use, in their order in the program. */
typedef struct numbering {
    uint16_t *new_number; /* by the builder's number; UINT16_MAX: unused */
    uint16_t *old_number; /* by the program's */
    int count;
} numbering;

/* Numbers what the outputs use: operands first, left to right, outputs in order. An instruction's
 * own stack keeps deep programs off the C stack. */
static void number(const ry_expr_builder *builder, const int *result, int outputs,
                   numbering *numbers, uint16_t *stack)
{
    uint16_t *new_number = numbers->new_number;
    numbers->count = 0;
    memset(new_number, 0xff, (size_t)builder->count * sizeof *new_number);
    for (int o = 0; o < outputs; o++) {
        int depth = 0;
        stack[depth++] = (uint16_t)result[o];
        while (depth > 0) {
            int at = stack[depth - 1], open = -1;
            const ry_expr_instruction *in = &builder->code[at];
            for (int k = 0; k < ry_expr_code_operands(in->code) && open < 0; k++) {
                open = new_number[in->operand[k]] == UINT16_MAX ? in->operand[k] : -1;
            }
            if (new_number[at] == UINT16_MAX && open >= 0) {
                stack[depth++] = (uint16_t)open;
                continue;
            }
            if (new_number[at] == UINT16_MAX) {
                numbers->old_number[numbers->count] = (uint16_t)at;
                new_number[at] = (uint16_t)numbers->count++;
            }
            depth--;
        }
    }
}

static rynd_status emit(const ry_expr_builder *builder, int inputs, const int *result, int outputs,
                        const numbering *numbers, ry_arena *arena, const ry_expr **program,
                        ry_error *error)
{
    const uint16_t *new_number = numbers->new_number, *old_number = numbers->old_number;
    const int count = numbers->count;
    ry_expr *made = RY_TAKE(arena, ry_expr, 1);
    ry_expr_instruction *code = RY_TAKE(arena, ry_expr_instruction, count);
    uint16_t *results = RY_TAKE(arena, uint16_t, outputs);
    bool *reduced = RY_TAKE(arena, bool, count);
    if (!made || !code || !results || !reduced) {
        return ry_fail_memory(error);
    }
    *made = (ry_expr){.inputs = inputs,
                      .outputs = outputs,
                      .count = count,
                      .code = code,
                      .result = results,
                      .reduced = reduced};
    uint64_t hash = mix((uint64_t)inputs, (uint64_t)outputs);
    for (int i = 0; i < count; i++) {
        code[i] = builder->code[old_number[i]];
        for (int k = 0; k < ry_expr_code_operands(code[i].code); k++) {
            code[i].operand[k] = new_number[code[i].operand[k]];
        }
        reduced[i] = builder->side[old_number[i]] == RY_EXPR_REDUCED;
        made->reduces = made->reduces || reduced[i];
        hash = mix(hash, instruction_hash(&code[i]));
    }
    for (int i = 0; i < outputs; i++) {
        results[i] = new_number[result[i]];
        hash = mix(hash, results[i]);
    }
    made->hash = hash;
    *program = made;
    return RYND_OK;
}

rynd_status ry_expr_builder_finish(const ry_expr_builder *builder, int inputs, const int *result,
                                   int outputs, ry_arena *arena, const ry_expr **program,
                                   ry_error *error)
{
    *program = NULL;
    for (int i = 0; i < outputs; i++) {
        if (result[i] < 0) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "an expression of more than %d instructions", RY_EXPR_MAX_INSTRUCTIONS);
        }
    }
    uint16_t *room =
        ry_allocate_array(builder->allocator, (size_t)builder->capacity * 3, sizeof *room);
    if (!room) {
        return ry_fail_memory(error);
    }
    numbering numbers = {.new_number = room, .old_number = room + builder->capacity};
    number(builder, result, outputs, &numbers, numbers.old_number + builder->capacity);
    rynd_status status = emit(builder, inputs, result, outputs, &numbers, arena, program, error);
    ry_release(builder->allocator, room);
    return status;
}
