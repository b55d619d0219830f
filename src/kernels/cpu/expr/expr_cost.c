/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan of the evaluator costs: its operands are moved once, and each step takes its share.
 */
#include "base/integer.h"
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/expr/expr_plan.h"

static bool is_elementary(ry_expr_code code)
{
    return (code >= RY_EXPR_exp && code <= RY_EXPR_gelu_tanh) || code == RY_EXPR_pow;
}

/* A remainder of floats calls libm for each element. */
static bool is_remainder(ry_expr_code code)
{
    return code == RY_EXPR_mod || code == RY_EXPR_fmod;
}

/* float32, by vectors. */
static double single_cost(ry_expr_code code, bool near, const struct ry_expr_costs *cost)
{
    const double known[RY_EXPR_CODES][2] = {
#define FUNCTION(name) [RY_EXPR_##name] = {cost->strict_##name, cost->near_##name},
        FUNCTION(div) FUNCTION(sqrt) FUNCTION(exp) FUNCTION(log) FUNCTION(sin) FUNCTION(cos)
            FUNCTION(tan) FUNCTION(erf) FUNCTION(tanh) FUNCTION(sigmoid) FUNCTION(silu)
                FUNCTION(gelu) FUNCTION(pow) FUNCTION(softplus) FUNCTION(gelu_tanh)
#undef FUNCTION
                    [RY_EXPR_reciprocal] = {cost->strict_div, cost->near_div},
        [RY_EXPR_sinh] = {cost->composed, cost->composed},
        [RY_EXPR_atanh] = {cost->composed, cost->composed},
        [RY_EXPR_mish] = {cost->composed, cost->composed},
        [RY_EXPR_asinh] = {cost->inverse, cost->inverse},
        [RY_EXPR_acosh] = {cost->inverse, cost->inverse}};
    return known[code][near] > 0 ? known[code][near] : is_elementary(code) ? cost->other : 0;
}

/* float64: exp and what is made of it alone has vectors, other functions call libm. */
static double double_cost(ry_expr_code code, const struct ry_expr_costs *cost)
{
    switch (code) {
    case RY_EXPR_div:
    case RY_EXPR_reciprocal: return cost->double_div;
    case RY_EXPR_sqrt: return cost->double_sqrt;
    case RY_EXPR_exp:
    case RY_EXPR_sigmoid:
    case RY_EXPR_silu:
    case RY_EXPR_gelu_tanh: return cost->double_exp;
    case RY_EXPR_asin:
    case RY_EXPR_acos:
    case RY_EXPR_sinh:
    case RY_EXPR_tanh:
    case RY_EXPR_asinh:
    case RY_EXPR_atanh:
    case RY_EXPR_softplus:
    case RY_EXPR_mish:
    case RY_EXPR_pow: return cost->libm_long;
    default: return is_elementary(code) ? cost->libm : 0;
    }
}

/* Integers divide in floats, but 64 bits by a scalar instruction; powers are loops of products. */
static double integer_cost(ry_expr_code code, double words, const struct ry_expr_costs *cost)
{
    const bool divides = code == RY_EXPR_div || is_remainder(code);
    return code == RY_EXPR_pow ? cost->integer_pow
           : !divides          ? 0
           : words > 1         ? cost->long_div
           : words < 1         ? cost->integer_div / 2 /* in float32 */
                               : cost->integer_div;
}

/* Floats that take as many bytes as a number of the type. */
static double words_of(uint8_t type)
{
    return (double)ry_expr_loop_size((ry_loop_type)type) / sizeof(float);
}

static bool is_float(uint8_t type)
{
    return type == RY_LOOP_f32 || type == RY_LOOP_f64;
}

/* Cost of a function per element, without moving the element. */
static double function_cost(const ry_expr_step *step, bool near, const struct ry_expr_costs *cost)
{
    const ry_expr_code code = (ry_expr_code)step->code;
    return !is_float(step->type)       ? integer_cost(code, words_of(step->type), cost)
           : is_remainder(code)        ? cost->remainder
           : step->type == RY_LOOP_f64 ? double_cost(code, cost)
                                       : single_cost(code, near, cost);
}

/* Cost of an element's reduction. A row's last sum goes through the lanes of a vector of floats, each
 * of which waits for the one before it. */
static double reduction_cost(const ry_expr_plan *plan, const ry_expr_step *step, int width,
                             const struct ry_expr_costs *cost)
{
    if (plan->scheme == RY_EXPR_OUTER) {
        return cost->folded + cost->fold / (double)ry_max(plan->wide * plan->tile, 1);
    }
    const double lanes = is_float(step->type) ? width / words_of(step->type) : 0;
    return cost->inner + (cost->inner_row + lanes * cost->lane) / (double)ry_max(plan->tile, 1);
}

/* Cost of a step per element of a tile. */
static double element_cost(const ry_expr_plan *plan, const ry_expr_step *step, bool near, int width,
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
        const bool half = p->dtype == RYND_DTYPE_F16 || p->dtype == RYND_DTYPE_BF16;
        return (!strided     ? cost->gathered * words_of(p->type)
                : transposed ? cost->transposed
                             : cost->strided) +
               (half ? cost->half : 0) +
               (cost->row + (half ? cost->half_row : 0)) / (double)ry_max(plan->tile, 1);
    }
    case RY_STEP_REDUCE: return reduction_cost(plan, step, width, cost);
    case RY_STEP_CAST:
    case RY_STEP_SATURATE:
    case RY_STEP_TRUTH:
    case RY_STEP_ROUND: return cost->cast;
    default: return 0;
    }
}

/* Floats that a step leaves in a register for each element; 0: it moves or reduces. */
static double step_words(const ry_expr_step *step)
{
    const bool moves =
        step->kind == RY_STEP_LOAD || step->kind == RY_STEP_STORE || step->kind == RY_STEP_REDUCE;
    return moves ? 0 : words_of(step->type);
}

/* Bytes through the second-level cache: the lines of what is written are read, too. */
static double streamed_bytes(const ry_query *query, const struct ry_expr_costs *cost)
{
    double written = 0;
    for (int i = 0; i < query->problem->outputs; i++) {
        written += (double)ry_tensor_bytes(&query->problem->out[i]);
    }
    return ry_problem_bytes(query->problem) + (cost->written - 1) * written;
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
    double each = 0, tile = cost->tile, steps = 0, first = 0;
    for (int i = plan->first_steps; i < plan->first_steps + plan->steps; i++) {
        const double words = step_words(&step[i]);
        if (step[i].single) {
            tile += words > 0 ? cost->single : 0;
        } else {
            each += element_cost(plan, &step[i], near, query->kernel->simd.width, cost);
            first = steps > 0 ? first : words;
            steps += words;
        }
    }
    const double buffer = (double)plan->elements * (double)plan->element;
    const bool outside =
        buffer > (double)ry_machine_core_bytes(query->target->machine, RYND_LEVEL_L1);
    for (int i = 0; i < plan->inputs && outside; i++) {
        each += operand[i].mode == RY_EXPR_INVARIANT ? cost->repeated : 0;
    }
    const bool reduces = plan->scheme != RY_EXPR_POINT;
    each += cost->step * (reduces ? steps : steps - first);
    const double units =
        plan->scheme == RY_EXPR_OUTER ? (double)(plan->units * plan->slices) * cost->unit : 0;
    return ry_stream_work(query->target->machine, streamed_bytes(query, cost)) + elements * each +
           tiles * tile + units + cost->start * (double)ry_cut_tasks(&plan->cut);
}
