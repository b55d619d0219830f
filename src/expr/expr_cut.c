/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that are parts of programs: between instructions, and some of the outputs. */
#include "expr/expr_build.h"

typedef struct parting {
    ry_expr_builder builder;
    int *map; /* the builder's instruction of each of the program's */
} parting;

static rynd_status begin(parting *p, const ry_expr *program, ry_arena *arena, ry_error *error)
{
    p->map = ry_allocate_array(arena->allocator, (size_t)program->count + 1, sizeof *p->map);
    if (!p->map || !ry_expr_builder_init(&p->builder, arena->allocator)) {
        ry_release(arena->allocator, p->map);
        return ry_fail_memory(error);
    }
    return RYND_OK;
}

static void end(parting *p, ry_arena *arena)
{
    ry_expr_builder_free(&p->builder);
    ry_release(arena->allocator, p->map);
}

static void copy_instruction(parting *p, const ry_expr *program, int at)
{
    const ry_expr_instruction *in = &program->code[at];
    int operand[3] = {0, 0, 0}, input[RY_EXPR_MAX_INPUTS];
    for (int k = 0; k < ry_expr_code_operands(in->code); k++) {
        operand[k] = p->map[in->operand[k]];
    }
    if (in->code == RY_EXPR_input) {
        input[in->index] = ry_expr_build_input(&p->builder, in->index);
    }
    p->map[at] = ry_expr_build_copy(&p->builder, in, operand, input);
}

rynd_status ry_expr_cut(const ry_expr *program, const int *at, int count, const int *results,
                        int outputs, ry_arena *arena, const ry_expr **part, ry_error *error)
{
    parting p;
    int result[RY_EXPR_MAX_OUTPUTS];
    *part = NULL;
    if (program->inputs + count > RY_EXPR_MAX_INPUTS || outputs > RY_EXPR_MAX_OUTPUTS) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "an expression of %d inputs and %d outputs",
                       program->inputs + count, outputs);
    }
    RY_TRY(begin(&p, program, arena, error));
    for (int i = 0; i < program->count; i++) {
        int k = 0;
        while (k < count && at[k] != i) {
            k++;
        }
        if (k < count) {
            p.map[i] = ry_expr_build_input(&p.builder, program->inputs + k);
        } else {
            copy_instruction(&p, program, i);
        }
    }
    for (int o = 0; o < outputs; o++) {
        result[o] = p.map[results[o]];
    }
    rynd_status status = ry_expr_builder_finish(&p.builder, program->inputs + count, result,
                                                outputs, arena, part, error);
    end(&p, arena);
    return status;
}

rynd_status ry_expr_outputs(const ry_expr *program, const int *outputs, const bool *summed,
                            int count, ry_arena *arena, const ry_expr **picked, ry_error *error)
{
    parting p;
    int result[RY_EXPR_MAX_OUTPUTS];
    *picked = NULL;
    RY_TRY(begin(&p, program, arena, error));
    for (int i = 0; i < program->count; i++) {
        copy_instruction(&p, program, i);
    }
    for (int o = 0; o < count; o++) {
        const int operand[3] = {p.map[program->result[outputs[o]]], 0, 0};
        result[o] = summed[o] ? ry_expr_build(&p.builder, RY_EXPR_sum, operand) : operand[0];
    }
    rynd_status status =
        ry_expr_builder_finish(&p.builder, program->inputs, result, count, arena, picked, error);
    end(&p, arena);
    return status;
}
