/* SPDX-License-Identifier: Apache-2.0 */
/* Which expressions are tables of bytes, and their cost. */
#include "kernels/cpu/expr/table_plan.h"

#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/cpu/parts/dense_lanes.h"

#include <assert.h>

static bool is_byte(const ry_tensor *t)
{
    return ry_type_of(t) == RY_u8 || ry_type_of(t) == RY_i8;
}

bool ry_expr_table_takes(const ry_problem *problem)
{
    ry_lanes lanes;
    return ry_expr_applicable(problem) && problem->inputs == 1 && problem->outputs == 1 &&
           !problem->attrs.expr.program->reduces &&
           problem->attrs.expr.program->count <= EXPR_TABLE_INSTRUCTIONS &&
           is_byte(&problem->in[0]) && is_byte(&problem->out[0]) &&
           ry_lanes_alike(&problem->in[0], &problem->out[0]) &&
           ry_lanes_make(&problem->in[0], 0, 0, &lanes);
}

/* The same expression of a part of the table. */
typedef struct table_part {
    ry_tensor in, out;
    ry_problem problem;
    ry_query query;
} table_part;

static void describe(const ry_query *query, table_part *all)
{
    const ry_shape shape = {.rank = 1, .dim = {EXPR_TABLE_PART}};
    const ry_problem *problem = query->problem;
    all->in = ry_tensor_row_major(ry_type_of(&problem->in[0]), &shape, NULL);
    all->out = ry_tensor_row_major(ry_type_of(&problem->out[0]), &shape, NULL);
    all->problem = *problem;
    all->problem.in = &all->in;
    all->problem.out = &all->out;
    all->query = *query;
    all->query.problem = &all->problem;
}

static int64_t bytes_of_task(const ry_query *query, int64_t bytes)
{
    return ry_min(ry_machine_task_bytes(query->target->machine, (double)bytes), bytes);
}

rynd_status ry_expr_table_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    table_part all;
    describe(query, &all);
    RY_TRY(ry_expr_prepare(&all.query, prepared, error));
    assert(prepared->scratch <= EXPR_TABLE_SCRATCH);
    const int64_t bytes = ry_tensor_count(&query->problem->in[0]),
                  task = bytes_of_task(query, bytes);
    *prepared =
        (ry_prepared){.phases = 1,
                      .tasks = {(size_t)ry_ceil_div(bytes, task)},
                      .state_size = ry_aligned(sizeof(expr_table_plan)) + prepared->state_size,
                      .packed = EXPR_TABLE,
                      .pack_tasks = 1};
    const double cycles = ry_costs_asked(query)->expr.table_byte;
    prepared->work[0] =
        ry_work_of_cycles((ry_work){cycles * (double)bytes, 0}, query->kernel->simd.width);
    return RYND_OK;
}

void ry_expr_table_initialise(const ry_query *query, void *state)
{
    expr_table_plan *plan = state;
    table_part all;
    ry_prepared prepared;
    describe(query, &all);
    plan->bytes = ry_tensor_count(&query->problem->in[0]);
    plan->bytes_of_task = bytes_of_task(query, plan->bytes);
    plan->tasks = ry_expr_prepare(&all.query, &prepared, NULL) == RYND_OK ? prepared.tasks[0] : 0;
    ry_expr_initialise(&all.query, (char *)state + ry_aligned(sizeof *plan));
}
