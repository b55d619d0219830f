/* SPDX-License-Identifier: Apache-2.0 */
/* Programs made of programs: composition and renaming of inputs. */
#include "expr/expr_build.h"

#include <string.h>

bool ry_expr_equal(const ry_expr *a, const ry_expr *b)
{
    if (a->hash != b->hash || a->inputs != b->inputs || a->outputs != b->outputs ||
        a->count != b->count ||
        memcmp(a->result, b->result, (size_t)a->outputs * sizeof *a->result) != 0) {
        return false;
    }
    for (int i = 0; i < a->count; i++) {
        const ry_expr_instruction *p = &a->code[i], *q = &b->code[i];
        if (p->code != q->code || p->dtype != q->dtype || p->index != q->index ||
            memcmp(p->operand, q->operand, sizeof p->operand) != 0 ||
            !ry_expr_same_number(p->value, q->value)) {
            return false;
        }
    }
    return true;
}

/* Builds `program` on instructions in place of its inputs; map and result belong to the caller. */
static void place(ry_expr_builder *builder, const ry_expr *program, const int *input, int *map,
                  int *result)
{
    ry_expr_build_program(builder, program, input, map);
    for (int i = 0; i < program->outputs; i++) {
        result[i] = map[program->result[i]];
    }
}

rynd_status ry_expr_rename(const ry_expr *program, const int *map, int inputs, ry_arena *arena,
                           const ry_expr **renamed, ry_error *error)
{
    int input[RY_EXPR_MAX_INPUTS], result[RY_EXPR_MAX_OUTPUTS], *place_of;
    ry_expr_builder builder;
    *renamed = NULL;
    if (inputs > RY_EXPR_MAX_INPUTS) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED, "an expression of %d inputs", inputs);
    }
    for (int i = 0; i < program->inputs; i++) {
        if (map[i] < 0 || map[i] >= inputs) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "expression: input %d becomes %d of %d", i,
                           map[i], inputs);
        }
    }
    place_of = ry_allocate_array(arena->allocator, (size_t)program->count, sizeof *place_of);
    if (!place_of || !ry_expr_builder_init(&builder, arena->allocator)) {
        ry_release(arena->allocator, place_of);
        return ry_fail_memory(error);
    }
    for (int i = 0; i < program->inputs; i++) {
        input[i] = ry_expr_build_input(&builder, map[i]);
    }
    place(&builder, program, input, place_of, result);
    rynd_status status =
        ry_expr_builder_finish(&builder, inputs, result, program->outputs, arena, renamed, error);
    ry_expr_builder_free(&builder);
    ry_release(arena->allocator, place_of);
    return status;
}

rynd_status ry_expr_compose(const ry_expr *outer, int input, const ry_expr *inner, int output,
                            ry_arena *arena, const ry_expr **program, ry_error *error)
{
    int inputs = outer->inputs - 1 + inner->inputs, at[RY_EXPR_MAX_INPUTS],
        result[RY_EXPR_MAX_OUTPUTS];
    ry_expr_builder builder;
    *program = NULL;
    if (input < 0 || input >= outer->inputs || output < 0 || output >= inner->outputs) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "expression: no input %d or no output %d", input,
                       output);
    }
    if (inner->reduces || inputs > RY_EXPR_MAX_INPUTS) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       inner->reduces ? "expression: the inner one reduces"
                                      : "expression: too many inputs");
    }
    int *map =
        ry_allocate_array(arena->allocator, (size_t)(inner->count + outer->count), sizeof *map);
    if (!map || !ry_expr_builder_init(&builder, arena->allocator)) {
        ry_release(arena->allocator, map);
        return ry_fail_memory(error);
    }
    for (int i = 0; i < inner->inputs; i++) {
        at[i] = ry_expr_build_input(&builder, outer->inputs - 1 + i);
    }
    place(&builder, inner, at, map, result);
    int joint = result[output];
    for (int i = 0; i < outer->inputs; i++) {
        at[i] = i == input ? joint : ry_expr_build_input(&builder, i < input ? i : i - 1);
    }
    place(&builder, outer, at, map + inner->count, result);
    rynd_status status =
        ry_expr_builder_finish(&builder, inputs, result, outer->outputs, arena, program, error);
    ry_expr_builder_free(&builder);
    ry_release(arena->allocator, map);
    return status;
}
