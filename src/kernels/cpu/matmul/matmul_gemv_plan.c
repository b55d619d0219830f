/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts products of few rows into tasks of columns. */
#include "kernels/cpu/matmul/matmul_gemv_plan.h"
#include "base/room.h"
#include "kernels/costs.h"

#include "kernels/cpu/matmul/matmul_tasks.h"
#include "kernels/packing.h"
#include "problem/limits.h"

#include <string.h>

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
    memset(plan, 0, sizeof *plan);
    plan->rounded = rounded;
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
static int64_t k_block_of(const ry_query *query, const gemv_plan *plan)
{
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

static int64_t columns_of(const ry_query *query, const gemv_plan *plan)
{
    const matmul_shape *s = &plan->shape;
    return matmul_task_columns(query, s->n, s->k * b_size(plan), grain_of(query, plan));
}

static bool make_plan(const ry_query *query, gemv_plan *plan)
{
    if (!read_shape(query->problem, query->kernel->packed_inputs != 0, plan)) {
        return false;
    }
    const int64_t width = query->kernel->simd.width, columns = ry_form_wanted(query, GEMV_COLUMNS),
                  k_block = ry_form_wanted(query, GEMV_K_BLOCK);
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A];
    plan->a_copied = a->dtype != RY_f32 || a->column != 1;
    plan->a_step = ry_round_up(s->k, width) + width;
    plan->columns = columns == RY_KNOB_FREE ? columns_of(query, plan) : columns;
    plan->k_block = k_block == RY_KNOB_FREE ? k_block_of(query, plan) : k_block;
    plan->tasks = (ry_task_cut){{{s->batches, 1}, {s->n, plan->columns}}};
    size_t at = 0;
    plan->a = ry_room(&at, plan->a_copied ? s->m * plan->a_step : 0, sizeof(float));
    plan->block = ry_room(&at, s->m * plan->columns, sizeof(float));
    plan->scratch = at;
    return true;
}

void ry_gemv_values(const ry_query *query, int knob, ry_knob_values *values)
{
    gemv_plan plan;
    *values = (ry_knob_values){0};
    if (!read_shape(query->problem, query->kernel->packed_inputs != 0, &plan)) {
        return;
    }
    if (knob == GEMV_COLUMNS) {
        matmul_list_columns(plan.shape.n, grain_of(query, &plan), columns_of(query, &plan), values);
    } else {
        const int64_t k_block = k_block_of(query, &plan);
        *values = k_block == plan.shape.k ? (ry_knob_values){1, {k_block}}
                                          : (ry_knob_values){2, {k_block, plan.shape.k}};
    }
}

/* Multiply-adds of a vector, or what takes as long. */
static double cycles_of(const gemv_plan *plan, const ry_query *query)
{
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    const matmul_shape *s = &plan->shape;
    const double width = query->kernel->simd.width, m = (double)s->m, k = (double)s->k,
                 n = (double)s->n;
    const bool far =
        ry_machine_is_far(query->target->machine, k * n * (double)(b_size(plan) * s->batches));
    const double pieces =
        plan->dot ? 0 : k * (double)ry_ceil_div(s->n, GEMV_SUM_VECTORS * (int64_t)width);
    const double loads = plan->dot ? cost->dot * (m + (double)gemv_dot_b((int)width)) / m : 0;
    return (double)s->batches *
           (m * n * k / width * (1 + loads) + pieces * (far ? cost->piece_far : cost->piece));
}

rynd_status ry_gemv_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    gemv_plan plan;
    if (!make_plan(query, &plan)) {
        return ry_form_fail(query, error);
    }
    const size_t packed = (size_t)(plan.shape.n * plan.shape.k) * sizeof(uint16_t);
    *prepared =
        (ry_prepared){.phases = 1,
                      .tasks = {(size_t)ry_cut_tasks(&plan.tasks)},
                      .state_size = ry_aligned(sizeof plan),
                      .packed = plan.rounded ? ry_aligned(packed) : 0,
                      .pack_tasks = plan.rounded ? (size_t)ry_cut_parts(&plan.tasks.axis[1]) : 0,
                      .pack_work = plan.rounded ? (double)(plan.shape.n * plan.shape.k) * 2 *
                                                      query->kernel->simd.width *
                                                      ry_costs_asked(query)->matmul.pack_rounded
                                                : 0,
                      .scratch = plan.scratch,
                      .work = {{cycles_of(&plan, query) * 2 * query->kernel->simd.width, 0}},
                      .form = {{plan.columns, plan.k_block}}};
    return RYND_OK;
}

void ry_gemv_initialise(const ry_query *query, void *state)
{
    make_plan(query, state);
}

void ry_gemv_packing(const ry_prepared *prepared, ry_text *key)
{
    const gemv_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->shape.n, plan->shape.k);
}
