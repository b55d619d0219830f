/* SPDX-License-Identifier: Apache-2.0 */
/* What the evaluators of all instruction sets have in common: whether, how large, how. */
#include "kernels/cpu/expr/expr_plan.h"

#include "kernels/common/work.h"

#include <assert.h>
#include <string.h>

static size_t part(size_t *total, size_t count, size_t size)
{
    size_t at = *total;
    *total = (at + count * size + 15) / 16 * 16;
    return at;
}

/* Upper bounds, so that the parts can be placed before the program is compiled. */
static size_t place_parts(ry_expr_plan *plan, const ry_expr *program)
{
    size_t count = (size_t)program->count, uses = 0, outputs = (size_t)program->outputs;
    for (size_t i = 0; i < count; i++) {
        uses += (size_t)ry_expr_code_operands(program->code[i].code);
    }
    size_t total = (sizeof *plan + 15) / 16 * 16;
    plan->operands_at = part(&total, (size_t)program->inputs + outputs, sizeof(ry_expr_operand));
    plan->steps_at = part(&total, 4 * count + uses + 2 * outputs, sizeof(ry_expr_step));
    plan->registers_at = part(&total, 2 * count + 2 * uses + 2 * outputs, sizeof(ry_expr_register));
    plan->numbers_at = part(&total, uses + outputs, sizeof(ry_expr_number));
    plan->reductions_at = part(&total, count, sizeof(ry_expr_reduction));
    plan->last_use_at = part(&total, count, sizeof(uint16_t));
    plan->busy_at = part(&total, 2 * count + 8, sizeof(uint8_t));
    return total;
}

size_t ry_expr_plan_size(const ry_problem *problem)
{
    ry_expr_plan plan;
    return place_parts(&plan, problem->attrs.expr.program);
}

static rynd_status make(ry_expr_plan *plan, const ry_query *query, ry_error *error)
{
    const ry_problem *problem = query->problem;
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype inputs[RY_EXPR_MAX_INPUTS], types[RY_EXPR_MAX_INSTRUCTIONS];
    memset(plan, 0, ry_expr_plan_size(problem));
    place_parts(plan, program);
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = (ry_dtype)problem->in[i].dtype;
    }
    RY_TRY(ry_expr_types(program, inputs, types, error));
    RY_TRY(ry_expr_space_make(plan, query, error));
    ry_expr_space_tasks(plan, query, ry_expr_compile(plan, program, types));
    return RYND_OK;
}

bool ry_expr_applicable(const ry_problem *problem)
{
    const ry_expr *program = problem->attrs.expr.program;
    ry_dtype inputs[RY_EXPR_MAX_INPUTS], types[RY_EXPR_MAX_INSTRUCTIONS];
    if (problem->op != RY_OP_expr || !program || program->inputs > problem->inputs ||
        (program->inputs == 0 && program->reduces) || program->outputs != problem->outputs ||
        program->inputs > RY_EXPR_MAX_INPUTS || program->count > RY_EXPR_MAX_INSTRUCTIONS) {
        return false;
    }
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = (ry_dtype)problem->in[i].dtype;
        if (!ry_tensor_present(&problem->in[i])) {
            return false;
        }
    }
    if (ry_expr_types(program, inputs, types, NULL) != RYND_OK) {
        return false;
    }
    for (int i = 0; i < program->outputs; i++) {
        if ((ry_dtype)problem->out[i].dtype != types[program->result[i]]) {
            return false;
        }
    }
    return true;
}

static bool is_near(ry_expr_code code)
{
#define ROW(name) [RY_EXPR_##name] = true,
    static const bool near[RY_EXPR_CODES] = {RY_EXPR_NEAR(ROW)};
#undef ROW
    return near[code];
}

bool ry_expr_near_applicable(const ry_problem *problem)
{
    ry_dtype inputs[RY_EXPR_MAX_INPUTS], types[RY_EXPR_MAX_INSTRUCTIONS];
    if (!ry_expr_applicable(problem)) {
        return false;
    }
    const ry_expr *program = problem->attrs.expr.program;
    for (int i = 0; i < program->inputs; i++) {
        inputs[i] = (ry_dtype)problem->in[i].dtype;
    }
    bool typed = false, found = false;
    for (int i = 0; i < program->count && !found; i++) {
        if (is_near(program->code[i].code)) {
            typed = typed || ry_expr_types(program, inputs, types, NULL) == RYND_OK;
            found = typed && ry_expr_loop_type(types[i]) == RY_LOOP_f32;
        }
    }
    return found;
}

rynd_status ry_expr_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    size_t size = ry_expr_plan_size(problem);
    ry_expr_plan *plan = ry_allocate(&ry_system_allocator, size);
    if (!plan) {
        return ry_fail_memory(error);
    }
    rynd_status status = make(plan, query, error);
    if (status == RYND_OK) {
        *prepared = (ry_prepared){.phases = plan->slices > 1 ? 2 : 1,
                                  .state_size = size,
                                  .scratch = plan->scratch,
                                  .workspace = plan->workspace};
        prepared->tasks[0] = (size_t)ry_cut_tasks(&plan->cut);
        prepared->tasks[1] = (size_t)(plan->slices > 1 ? plan->units : 0);
        ry_count_work(ry_expr_work(query, plan), ry_problem_bytes(problem), prepared);
    }
    ry_release(&ry_system_allocator, plan);
    return status;
}

void ry_expr_initialise(const ry_query *query, void *state)
{
    rynd_status status = make(state, query, NULL); /* as it went in prepare */
    assert(status == RYND_OK);
    (void)status;
}
