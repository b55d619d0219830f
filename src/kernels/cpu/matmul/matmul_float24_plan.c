/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out and cuts products with floats of 24 bits. */
#include "kernels/cpu/matmul/matmul_float24_plan.h"
#include "base/room.h"
#include "kernels/costs.h"

#include "kernels/cpu/matmul/matmul_tasks.h"
#include "kernels/packing.h"

#include <string.h>

/* Least bytes of b: copying a smaller b gained next to nothing on any machine. */
static const int64_t min_bytes = 2 * 1024 * 1024;

const ry_knob ry_float24_knobs[FLOAT24_KNOBS] = {[FLOAT24_COLUMNS] = {.name = "columns"}};

static bool read_shape(const ry_problem *problem, float24_plan *plan)
{
    memset(plan, 0, sizeof *plan);
    matmul_shape *s = &plan->shape;
    return ry_matmul_shape_of(problem, s) && !s->swapped && s->batches == 1 &&
           s->m <= FLOAT24_ROWS && s->of[MATMUL_A].dtype == RY_f32 &&
           s->of[MATMUL_B].dtype == RY_f32 && s->n * s->k * (int64_t)sizeof(float) >= min_bytes;
}

bool ry_float24_takes(const ry_problem *problem)
{
    float24_plan plan;
    return (ry_dtype)problem->out[0].dtype == RY_f32 &&
           (!ry_problem_has_input(problem, 2) ||
            ry_dtype_is_float((ry_dtype)problem->in[2].dtype)) &&
           (!ry_problem_has_input(problem, 3) || (ry_dtype)problem->in[3].dtype == RY_f32) &&
           read_shape(problem, &plan);
}

static int64_t columns_of(const ry_query *query, const float24_plan *plan)
{
    const int64_t blocks = ry_ceil_div(plan->shape.k, FLOAT24_BLOCK);
    return matmul_task_columns(query, plan->shape.n, blocks * FLOAT24_BLOCK_BYTES,
                               float24_group(query->kernel->simd.width));
}

static bool make_plan(const ry_query *query, float24_plan *plan)
{
    if (!read_shape(query->problem, plan)) {
        return false;
    }
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A];
    const int64_t columns = ry_form_wanted(query, FLOAT24_COLUMNS);
    plan->blocks = ry_ceil_div(s->k, FLOAT24_BLOCK);
    plan->a_copied = a->column != 1 || s->k % FLOAT24_BLOCK != 0;
    plan->a_step = plan->a_copied ? plan->blocks * FLOAT24_BLOCK : a->row;
    plan->columns = columns == RY_KNOB_FREE ? columns_of(query, plan) : columns;
    plan->column_blocks = ry_ceil_div(s->n, plan->columns);
    size_t at = 0;
    plan->a = ry_room(&at, plan->a_copied ? s->m * plan->a_step : 0, sizeof(float));
    plan->block = ry_room(&at, s->m * plan->columns, sizeof(float));
    plan->scratch = at;
    plan->scales = ry_aligned((size_t)(s->n * plan->blocks * FLOAT24_BLOCK_BYTES));
    plan->packed = plan->scales + ry_aligned((size_t)s->n * sizeof(float));
    return true;
}

void ry_float24_values(const ry_query *query, int knob, ry_knob_values *values)
{
    float24_plan plan;
    (void)knob;
    if (read_shape(query->problem, &plan)) {
        matmul_list_columns(plan.shape.n, float24_group(query->kernel->simd.width),
                            columns_of(query, &plan), values);
    }
}

rynd_status ry_float24_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    float24_plan plan;
    if (!make_plan(query, &plan)) {
        return ry_form_fail(query, error);
    }
    const ry_problem *problem = query->problem;
    const matmul_shape *s = &plan.shape;
    const ry_simd *simd = &query->kernel->simd;
    const double vectors = (double)(s->n * s->k) / simd->width;
    const double cycles =
        vectors * ((query->kernel->isa == RY_ISA_generic ? cost->float24_plain : cost->float24) +
                   (double)(s->m - 1));
    *prepared = (ry_prepared){
        .phases = 1,
        .tasks = {(size_t)plan.column_blocks},
        .state_size = ry_aligned(sizeof plan),
        .packed = plan.packed,
        .pack_tasks = (size_t)plan.column_blocks,
        .scratch = plan.scratch,
        .work = {{cycles * 2 * simd->width, 0}},
        .pack_work = vectors * (double)(2 * simd->width * simd->width) * cost->pack_float24,
        .counts = {ry_problem_flop(problem), ry_problem_bytes(problem) -
                                                 (double)ry_tensor_bytes(&problem->in[MATMUL_B]) +
                                                 (double)plan.packed},
        .form = {{plan.columns}}};
    return RYND_OK;
}

void ry_float24_initialise(const ry_query *query, void *state)
{
    make_plan(query, state);
}

void ry_float24_packing(const ry_prepared *prepared, ry_text *key)
{
    const float24_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->shape.n, plan->shape.k, plan->blocks, (int64_t)plan->scales);
}
