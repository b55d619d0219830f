/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of operators that are lists of moves, and nothing else. */
#include "kernels/common/work.h"
#include "kernels/move/move_describe.h"

static const ry_describe describes[RY_OPS] = {
#define RY_MOVE(op, describe) [RY_OP_##op] = (describe),
#include "kernels/move/moves.inc"
#undef RY_MOVE
};

bool ry_moves_are_boxes(const ry_problem *problem)
{
    const ry_tensor *y = problem->outputs > 0 ? &problem->out[0] : NULL;
    if (!y || !ry_tensor_present(y) ||
        (problem->op == RY_OP_pad && problem->attrs.pad.mode != RY_pad_mode_constant)) {
        return false;
    }
    if (problem->op == RY_OP_constant_of_shape) {
        return true;
    }
    for (int i = 0; i < (problem->op == RY_OP_concat ? problem->inputs : 1); i++) {
        if (!ry_problem_has_input(problem, i) || problem->in[i].dtype != y->dtype) {
            return false;
        }
    }
    return true;
}

void ry_moves_describe(const ry_problem *problem, ry_move_list *list)
{
    describes[problem->op](problem, list);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    (void)error;
    ry_move_list list = ry_move_list_start(query, NULL);
    describes[problem->op](problem, &list);
    prepared->phases = list.phases + 1;
    prepared->tasks[0] = list.tasks[0];
    prepared->tasks[1] = list.tasks[1];
    prepared->state_size = ry_move_list_bytes(&list);
    prepared->workspace = list.phases > 0 ? ry_tensor_bytes(&problem->in[0]) : 0;
    ry_count_work(list.work, list.moved, prepared);
    return RYND_OK;
}

static void initialise(const ry_query *query, void *state)
{
    const ry_problem *problem = query->problem;
    ry_move_list *list = state;
    *list = ry_move_list_start(query, (ry_move *)(list + 1));
    describes[problem->op](problem, list);
    list->moves = NULL;
    list->machine = NULL;
}

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_move_list_run(launch->state, launch, task);
}

#define RY_MOVE(op_name, describe)                                                                 \
    RY_PLAIN_KERNEL(op_name##_move, op_name, .applicable = ry_moves_are_boxes, .prepare = prepare, \
                    .initialise = initialise, .run = run);
#include "kernels/move/moves.inc"
#undef RY_MOVE
