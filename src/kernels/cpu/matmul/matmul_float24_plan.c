/* SPDX-License-Identifier: Apache-2.0 */
/* Lays out and cuts products with floats of 24 bits. */
#include "kernels/cpu/matmul/matmul_float24_plan.h"

#include "base/room.h"
#include "kernels/cpu/matmul/matmul_tasks.h"
#include "kernels/packing.h"

/* Least bytes of b: copying a smaller b gained next to nothing on any machine. */
static const int64_t min_bytes = 2 * 1024 * 1024;

const ry_knob ry_float24_knobs[FLOAT24_KNOBS] = {[FLOAT24_COLUMNS] = {.name = "columns"}};

static bool read_shape(const ry_problem *problem, float24_plan *plan)
{
    matmul_shape *s = &plan->shape;
    *plan = (float24_plan){0};
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

static bool begin(const ry_query *query, void *user)
{
    float24_plan *plan = user;
    const matmul_shape *s = &plan->shape;
    const matmul_operand *a = &s->of[MATMUL_A];
    if (!read_shape(query->problem, plan)) {
        return false;
    }
    plan->blocks = ry_ceil_div(s->k, FLOAT24_BLOCK);
    plan->a_copied = a->column != 1 || s->k % FLOAT24_BLOCK != 0;
    plan->a_step = plan->a_copied ? plan->blocks * FLOAT24_BLOCK : a->row;
    plan->scales = ry_aligned((size_t)(s->n * plan->blocks * FLOAT24_BLOCK_BYTES));
    plan->packed = plan->scales + ry_aligned((size_t)s->n * sizeof(float));
    return true;
}

static void list_values(const ry_query *query, const void *user, int knob, ry_knob_values *values)
{
    const float24_plan *plan = user;
    const int64_t multiple = float24_group(query->kernel->simd.width);
    (void)knob;
    ry_knob_values_cuts(values, ry_ceil_div(plan->shape.n, multiple), multiple, INT64_MAX);
}

static bool set_axis(const ry_query *query, void *user, int knob, const ry_form *form)
{
    float24_plan *plan = user;
    (void)query;
    plan->tasks = (ry_task_cut){{{plan->shape.n, form->value[knob]}}};
    return true;
}

static double vectors_of(const ry_query *query, const float24_plan *plan)
{
    return (double)(plan->shape.n * plan->shape.k) / query->kernel->simd.width;
}

static double cycles_of(const ry_query *query, const float24_plan *plan)
{
    const struct ry_matmul_costs *cost = &ry_costs_asked(query)->matmul;
    return vectors_of(query, plan) *
           ((query->kernel->isa == RY_ISA_generic ? cost->float24_plain : cost->float24) +
            (double)(plan->shape.m - 1));
}

static double cost_of(const ry_query *query, void *user, double least)
{
    const float24_plan *plan = user;
    (void)least;
    const matmul_columns columns = {.all = cycles_of(query, plan),
                                    .bytes = (double)plan->packed,
                                    .copy = plan->a_copied ? (double)(plan->shape.m * plan->a_step)
                                                           : 0};
    return matmul_spent(query, &plan->tasks, &columns);
}

static void lay_out(const ry_query *query, void *user)
{
    float24_plan *plan = user;
    const int64_t m = plan->shape.m;
    size_t at = 0;
    (void)query;
    plan->a = ry_room(&at, plan->a_copied ? m * plan->a_step : 0, sizeof(float));
    plan->block = ry_room(&at, m * float24_columns(plan), sizeof(float));
    plan->scratch = at;
}

static void describe(const ry_query *query, const void *user, ry_prepared *prepared)
{
    const float24_plan *plan = user;
    const ry_problem *problem = query->problem;
    const int64_t width = query->kernel->simd.width;
    prepared->tasks[0] = prepared->pack_tasks = (size_t)ry_cut_tasks(&plan->tasks);
    prepared->packed = plan->packed;
    prepared->scratch = plan->scratch;
    prepared->work[0] = ry_work_of_cycles((ry_work){cycles_of(query, plan), 0}, width);
    prepared->pack_work = vectors_of(query, plan) * (double)(2 * width * width) *
                          ry_costs_asked(query)->matmul.pack_float24;
    prepared->counts =
        (ry_counts){ry_problem_flop(problem), ry_problem_bytes(problem) -
                                                  (double)ry_tensor_bytes(&problem->in[MATMUL_B]) +
                                                  (double)plan->packed};
}

static const ry_form_axis axes[] = {{.knob = FLOAT24_COLUMNS, .largest_first = true}};
static const ry_form_method method = {
    .search = {axes, sizeof axes / sizeof *axes, list_values, set_axis, NULL, cost_of},
    .size = sizeof(float24_plan),
    .begin = begin,
    .lay_out = lay_out,
    .describe = describe};
RY_FORM_METHOD(ry_float24, float24_plan, method)

void ry_float24_packing(const ry_prepared *prepared, ry_text *key)
{
    const float24_plan *plan = prepared->state;
    RY_PACKING_NUMBERS(key, plan->shape.n, plan->shape.k, plan->blocks, (int64_t)plan->scales);
}
