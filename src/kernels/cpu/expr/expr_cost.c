/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of the evaluator costs: its operands are moved once, and each step takes its share. */
#include "base/whole.h"
#include "kernels/common/work.h"
#include "kernels/cpu/expr/expr_costs.h"
#include "kernels/cpu/expr/expr_plan.h"

static bool is_elementary(ry_expr_code code)
{
    return (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh) || code == RY_EXPR_pow || code == RY_EXPR_mod || code == RY_EXPR_fmod;
}

/* Of a function and an element. */
static double function_cost(const ry_expr_step *step, bool near)
{
    const ry_expr_code code = (ry_expr_code)step->code;
    const double known = near ? expr_function_costs[code].near : expr_function_costs[code].strict;
    if (step->type != RY_LOOP_f32) {
        return is_elementary(code) ? expr_costs.wide : 0;
    }
    return known > 0 ? known : is_elementary(code) ? expr_costs.other : 0;
}

/* Of an element of a tile and a step. */
static double element_cost(const ry_expr_plan *plan, const ry_expr_step *step, bool near)
{
    const ry_expr_operand *operand = ry_expr_plan_part(plan, plan->operands_at);
    switch ((ry_expr_step_kind)step->kind) {
    case RY_STEP_VECTOR:
    case RY_STEP_SCALAR: return function_cost(step, near);
    case RY_STEP_LOAD:
    case RY_STEP_STORE: {
        const ry_expr_operand *p = &operand[step->kind == RY_STEP_LOAD ? step->a : step->y];
        const bool strided = p->inner != 0 && p->inner != (int64_t)p->size;
        return (strided ? expr_costs.strided : expr_costs.gathered) + expr_costs.row / (double)ry_most(plan->tile, 1);
    }
    case RY_STEP_REDUCE:
        return plan->scheme == RY_EXPR_INNER ? expr_costs.inner_row / (double)ry_most(plan->tile, 1)
                                             : expr_costs.folded + expr_costs.fold / (double)ry_most(plan->wide * plan->tile, 1);
    default: return 0;
    }
}

double ry_expr_work(const ry_query *query, const ry_expr_plan *plan)
{
    const bool near = query->kernel->accuracy != RY_ACCURACY_strict;
    const ry_expr_step *step = ry_expr_plan_part(plan, plan->steps_at);
    const ry_expr_operand *operand = ry_expr_plan_part(plan, plan->operands_at);
    const double elements = (double)plan->kept_count * (double)plan->reduced_count * (double)plan->length;
    const double tiles = elements / (double)ry_most(plan->rows * plan->tile, 1);
    double each = 0, tile = expr_costs.tile, steps = 0;
    for (int i = plan->first_steps; i < plan->first_steps + plan->steps; i++) {
        const bool function = step[i].kind != RY_STEP_LOAD && step[i].kind != RY_STEP_STORE && step[i].kind != RY_STEP_REDUCE;
        if (step[i].single) {
            tile += function ? expr_costs.single : 0;
        } else {
            each += element_cost(plan, &step[i], near);
            steps += function ? 1 : 0;
        }
    }
    const double buffer = (double)plan->elements * (double)plan->element;
    const bool outside = buffer > (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L1);
    for (int i = 0; i < plan->inputs && outside; i++) {
        each += operand[i].mode == RY_EXPR_INVARIANT ? expr_costs.repeated : 0;
    }
    const bool reduces = plan->scheme != RY_EXPR_POINT;
    each += expr_costs.step * (reduces || steps < 1 ? steps : steps - 1);
    const double units = plan->scheme == RY_EXPR_OUTER ? (double)(plan->units * plan->slices) * expr_costs.unit : 0;
    return ry_stream_work(query->target->machine, ry_problem_bytes(query->problem)) + elements * each + tiles * tile + units;
}
