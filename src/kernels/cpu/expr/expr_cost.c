/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of the evaluator costs: its operands are moved once, and each step takes its share.
 */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/expr/expr_plan.h"

static bool is_elementary(ry_expr_code code)
{
    return (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh) || code == RY_EXPR_pow ||
           code == RY_EXPR_mod || code == RY_EXPR_fmod;
}

/* Cost of a function per element, without moving the element. */
static double function_cost(const ry_expr_step *step, bool near, const struct ry_expr_costs *cost)
{
    const double known[RY_EXPR_CODES][2] = {
#define FUNCTION(name) [RY_EXPR_##name] = {cost->strict_##name, cost->near_##name},
        FUNCTION(div) FUNCTION(sqrt) FUNCTION(exp) FUNCTION(log) FUNCTION(sin) FUNCTION(cos)
            FUNCTION(tan) FUNCTION(erf) FUNCTION(tanh) FUNCTION(sigmoid) FUNCTION(silu)
                FUNCTION(gelu) FUNCTION(pow) FUNCTION(softplus) FUNCTION(gelu_tanh)
#undef FUNCTION
    };
    const ry_expr_code code = (ry_expr_code)step->code;
    if (step->type != RY_LOOP_f32) {
        return is_elementary(code) ? cost->wide : 0;
    }
    return known[code][near] > 0 ? known[code][near] : is_elementary(code) ? cost->other : 0;
}

/* Cost of a step per element of a tile. */
static double element_cost(const ry_expr_plan *plan, const ry_expr_step *step, bool near,
                           const struct ry_expr_costs *cost)
{
    const ry_expr_operand *operand = ry_expr_plan_part(plan, plan->operands_at);
    switch ((ry_expr_step_kind)step->kind) {
    case RY_STEP_VECTOR:
    case RY_STEP_SCALAR: return function_cost(step, near, cost);
    case RY_STEP_LOAD:
    case RY_STEP_STORE: {
        const ry_expr_operand *p = &operand[step->kind == RY_STEP_LOAD ? step->a : step->y];
        const int last = plan->kept + (plan->scheme == RY_EXPR_OUTER ? plan->reduced : 0);
        const bool strided = p->inner != 0 && p->inner != (int64_t)p->size,
                   transposed =
                       last > 0 && plan->rows > 1 && p->stride[last - 1] == (int64_t)p->size;
        return (!strided     ? cost->gathered
                : transposed ? cost->transposed
                             : cost->strided) +
               cost->row / (double)ry_max(plan->tile, 1);
    }
    case RY_STEP_REDUCE:
        return plan->scheme == RY_EXPR_INNER
                   ? cost->inner_row / (double)ry_max(plan->tile, 1)
                   : cost->folded + cost->fold / (double)ry_max(plan->wide * plan->tile, 1);
    default: return 0;
    }
}

double ry_expr_work(const ry_query *query, const ry_expr_plan *plan)
{
    const struct ry_expr_costs *cost = &ry_costs_asked(query)->expr;
    const bool near = query->kernel->accuracy != RY_ACCURACY_strict;
    const ry_expr_step *step = ry_expr_plan_part(plan, plan->steps_at);
    const ry_expr_operand *operand = ry_expr_plan_part(plan, plan->operands_at);
    const double elements =
        (double)plan->kept_count * (double)plan->reduced_count * (double)plan->length;
    const double tiles = elements / (double)ry_max(plan->rows * plan->tile, 1);
    double each = 0, tile = cost->tile, steps = 0;
    for (int i = plan->first_steps; i < plan->first_steps + plan->steps; i++) {
        const bool function = step[i].kind != RY_STEP_LOAD && step[i].kind != RY_STEP_STORE &&
                              step[i].kind != RY_STEP_REDUCE;
        if (step[i].single) {
            tile += function ? cost->single : 0;
        } else {
            each += element_cost(plan, &step[i], near, cost);
            steps += function ? 1 : 0;
        }
    }
    const double buffer = (double)plan->elements * (double)plan->element;
    const bool outside =
        buffer > (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L1);
    for (int i = 0; i < plan->inputs && outside; i++) {
        each += operand[i].mode == RY_EXPR_INVARIANT ? cost->repeated : 0;
    }
    const bool reduces = plan->scheme != RY_EXPR_POINT;
    each += cost->step * (reduces || steps < 1 ? steps : steps - 1);
    const double units =
        plan->scheme == RY_EXPR_OUTER ? (double)(plan->units * plan->slices) * cost->unit : 0;
    return ry_stream_work(query->target->machine, ry_problem_bytes(query->problem)) +
           elements * each + tiles * tile + units;
}
