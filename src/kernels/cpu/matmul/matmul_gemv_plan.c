/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts products of few rows into tasks of columns. */
#include "kernels/cpu/matmul/matmul_gemv_plan.h"

#include "base/room.h"
#include "kernels/cpu/matmul/matmul_tasks.h"
#include "kernels/packing.h"
#include "problem/limits.h"

const ry_knob ry_gemv_knobs[GEMV_KNOBS] = {
    [GEMV_COLUMNS] = {.name = "columns"}, [GEMV_K_BLOCK] = {.name = "k_block"}};

static bool is_narrow_float(ry_dtype dtype)
{
    return dtype == RY_f32 || dtype == RY_f16 || dtype == RY_bf16;
}

/* Takes the copy for b. */
static bool round_b(matmul_shape *s)
{
    matmul_operand *b = &s->of[MATMUL_B];
    if (b->dtype != RY_f32 || s->swapped || s->batches != 1 || s->m > GEMV_DOT_A) {
        return false;
    }
    b->dtype = RY_bf16;
    b->row = 1;
    b->column = s->k;
    return true;
}

static bool read_shape(const ry_problem *problem, bool rounded, gemv_plan *plan)
{
    *plan = (gemv_plan){.rounded = rounded};
    matmul_shape *s = &plan->shape;
    if (!ry_matmul_shape_of(problem, s) || (rounded && !round_b(s))) {
        return false;
    }
    const matmul_operand *a = &s->of[MATMUL_A], *b = &s->of[MATMUL_B];
    plan->dot = b->row == 1 || s->k == 1;
    return is_narrow_float(a->dtype) && is_narrow_float(b->dtype) &&
           (plan->dot ? s->m <= RY_LIMIT_GEMV_ROWS : b->column == 1 && s->m <= MAX_GEMV_SUM_ROWS);
}

static bool takes(const ry_problem *problem, bool rounded)
{
    gemv_plan plan;
    return is_narrow_float((ry_dtype)problem->out[0].dtype) &&
           (!ry_problem_has_input(problem, 2) ||
            ry_dtype_is_float((ry_dtype)problem->in[2].dtype)) &&
           (!ry_problem_has_input(problem, 3) || is_narrow_float((ry_dtype)problem->in[3].dtype)) &&
           read_shape(problem, rounded, &plan);
}

bool ry_gemv_takes(const ry_problem *problem)
{
    return takes(problem, false);
}

bool ry_gemv_takes_rounded(const ry_problem *problem)
{
    return takes(problem, true);
}

static int64_t grain_of(const ry_query *query, const gemv_plan *plan)
{
    const int width = query->kernel->simd.width;
    return plan->dot ? gemv_dot_b(width) : GEMV_SUM_VECTORS * width;
}

/* A k block of as many rows as there may be stays in a core's second-level cache. Shorter ones are
 * slower, as prefetching starts again. */
static int64_t usual_k_block(const ry_query *query, const void *user)
{
    const gemv_plan *plan = user;
    const int64_t near = ry_machine_core_share(query->target->machine, RYND_LEVEL_L2,
                                               ry_costs_asked(query)->blocks.gemv_k_block);
    return plan->dot && plan->shape.m > GEMV_DOT_A
               ? ry_min(near / 4 / RY_LIMIT_GEMV_ROWS, plan->shape.k)
               : plan->shape.k;
}

static int64_t b_size(const gemv_plan *plan)
{
    return (int64_t)ry_dtype_size(plan->shape.of[MATMUL_B].dtype);
}

/* Multiply-adds of a vector, or what takes as long. */
static double cycles_of(const gemv_plan *plan, const ry_query *query)
{
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    const matmul_shape *s = &plan->shape;
    const double width = query->kernel->simd.width, m = (double)s->m, k = (double)s->k,
                 n = (double)s->n;
    const bool from_memory = ry_machine_exceeds_cache(query->target->machine,
                                                      k * n * (double)(b_size(plan) * s->batches));
    const double pieces =
        plan->dot ? 0 : k * (double)ry_ceil_div(s->n, GEMV_SUM_VECTORS * (int64_t)width);
    const double loads = plan->dot ? cost->dot * (m + (double)gemv_dot_b((int)width)) / m : 0;
    return (double)s->batches * (m * n * k / width * (1 + loads) +
                                 pieces * (from_memory ? cost->piece_memory : cost->piece));
}

static bool begin(const ry_query *query, void *user)
{
    gemv_plan *plan = user;
    const matmul_operand *a = &plan->shape.of[MATMUL_A];
    if (!read_shape(query->problem, query->kernel->packed_inputs != 0, plan)) {
        return false;
    }
    plan->a_copied = a->dtype != RY_f32 || a->column != 1;
    plan->a_step =
        ry_round_up(plan->shape.k, query->kernel->simd.width) + query->kernel->simd.width;
    return true;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const gemv_plan *plan = user;
    const matmul_shape *s = &plan->shape;
    const int64_t multiple = grain_of(query, plan);
    if (knob == GEMV_COLUMNS) {
        ry_knob_values_cuts(values, ry_ceil_div(s->n, multiple), multiple, INT64_MAX);
    } else {
        ry_knob_values_add(values, s->k);
        ry_knob_values_add(values, usual_k_block(query, plan));
    }
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    gemv_plan *plan = user;
    (void)query;
    if (knob == GEMV_K_BLOCK) {
        plan->k_block = form->value[GEMV_K_BLOCK];
    } else {
        plan->tasks =
            (ry_task_cut){{{plan->shape.batches, 1}, {plan->shape.n, form->value[GEMV_COLUMNS]}}};
    }
    return true;
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const gemv_plan *plan = user;
    const matmul_shape *s = &plan->shape;
    (void)least;
    const matmul_columns columns = {.all = cycles_of(plan, query),
                                    .bytes = (double)s->k * (double)s->n *
                                             (double)(b_size(plan) * s->batches),
                                    .copy = plan->a_copied ? (double)(s->m * s->k) : 0};
    return matmul_spent(query, &plan->tasks, &columns);
}

static void lay_out(const ry_query *query, void *user)
{
    gemv_plan *plan = user;
    const matmul_shape *s = &plan->shape;
    size_t at = 0;
    (void)query;
    plan->a = ry_room(&at, plan->a_copied ? s->m * plan->a_step : 0, sizeof(float));
    plan->block = ry_room(&at, s->m * gemv_columns(plan), sizeof(float));
    plan->scratch = at;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const gemv_plan *plan = user;
    const int64_t b = plan->shape.n * plan->shape.k, width = query->kernel->simd.width;
    prepared->tasks[0] = (size_t)ry_cut_tasks(&plan->tasks);
    prepared->scratch = plan->scratch;
    prepared->work[0] = ry_work_of_cycles((ry_work){cycles_of(plan, query), 0}, width);
    if (plan->rounded) {
        prepared->packed = ry_aligned((size_t)b * sizeof(uint16_t));
        prepared->pack_tasks = (size_t)ry_cut_parts(&plan->tasks.axis[1]);
        prepared->pack_work =
            (double)b * 2 * (double)width * ry_costs_asked(query)->matmul.pack_rounded;
    }
}

static const ry_form_axis axes[] = {{.knob = GEMV_K_BLOCK, .usual = usual_k_block},
                                    {.knob = GEMV_COLUMNS, .largest_first = true}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of},
    .size = sizeof(gemv_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_gemv, gemv_plan, method)

void ry_gemv_packing(const ry_prepared *prepared, ry_text *key)
{
    const gemv_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->shape.n, plan->shape.k);
}
