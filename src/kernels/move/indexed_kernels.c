/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of gather, gather_elements, gather_nd, scatter_elements and scatter_nd. */
#include "kernels/common/work.h"
#include "kernels/costs.h"
#include "kernels/move/indexed_moves.h"
#include "kernels/move/move_describe.h"

static bool applicable(const ry_problem *problem)
{
    bool scatter = problem->op == RY_OP_scatter_elements || problem->op == RY_OP_scatter_nd;
    if (!ry_problem_has_input(problem, 0) || !ry_problem_has_input(problem, 1) ||
        !ry_problem_has_output(problem, 0)) {
        return false;
    }
    return problem->in[0].dtype == problem->out[0].dtype &&
           !ry_dtype_is_float((ry_dtype)problem->in[1].dtype) &&
           (!scatter ||
            (ry_problem_has_input(problem, 2) && problem->in[2].dtype == problem->out[0].dtype));
}

static void count_moves(const ry_query *query, const ry_indexed *x, ry_prepared *prepared)
{
    const struct ry_move_costs *cost = &ry_costs_asked(query)->move;
    const double positions = (double)ry_indexed_positions(x);
    const double index = x->depth == 1 && x->bytes > 0 ? cost->run : cost->position;
    const double slice = index + ry_box_work(&x->slice, query->target->machine);
    ry_count_work(positions * slice, positions * ry_box_moved(&x->slice), prepared);
}

static rynd_status prepare_gather(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    ry_indexed indexed;
    RY_TRY(ry_indexed_describe(query, &indexed, error));
    prepared->phases = 1;
    prepared->tasks[0] = ry_indexed_tasks(&indexed);
    prepared->state_size = sizeof indexed;
    count_moves(query, &indexed, prepared);
    return RYND_OK;
}

static void initialise_gather(const ry_query *query, void *state)
{
    ry_indexed_describe(query, state, NULL);
}

static void run_gather(const ry_cpu_launch *launch, size_t task)
{
    ry_indexed_run(launch->state, launch->in[1], (char *)(uintptr_t)launch->in[0], launch->out[0],
                   task, launch->fault);
}

/* A scatter's state: how to gather, then the moves of its first phase, which copies the data. */
static rynd_status prepare_scatter(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    RY_TRY(prepare_gather(query, prepared, error));
    ry_move_list list = ry_move_list_start(query, NULL);
    ry_move_same_shape(problem, &list, 0, 0);
    prepared->phases = 2;
    prepared->tasks[1] = prepared->tasks[0];
    prepared->tasks[0] = list.tasks[0];
    prepared->state_size += ry_move_list_bytes(&list);
    prepared->work[1] = prepared->work[0];
    prepared->work[0] = (ry_work){list.work, 0};
    prepared->counts.bytes += list.moved;
    return RYND_OK;
}

static void initialise_scatter(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    initialise_gather(query, state);
    ry_move_list *list = (ry_move_list *)((ry_indexed *)state + 1);
    *list = ry_move_list_start(query, (ry_move *)(list + 1));
    ry_move_same_shape(problem, list, 0, 0);
    list->moves = NULL;
    list->machine = NULL;
}

static void run_scatter(const ry_cpu_launch *launch, size_t task)
{
    const ry_indexed *indexed = launch->state;
    if (launch->phase == 0) {
        ry_move_list_run(indexed + 1, launch, task);
    } else {
        ry_indexed_run(indexed, launch->in[1], launch->out[0], (char *)(uintptr_t)launch->in[2],
                       task, launch->fault);
    }
}

#define INDEXED(op_name, kind)                                                                    \
    RY_PLAIN_KERNEL(op_name##_move, op_name, .applicable = applicable, .prepare = prepare_##kind, \
                    .initialise = initialise_##kind, .run = run_##kind);
INDEXED(gather, gather)
INDEXED(gather_elements, gather)
INDEXED(gather_nd, gather)
INDEXED(scatter_elements, scatter)
INDEXED(scatter_nd, scatter)
