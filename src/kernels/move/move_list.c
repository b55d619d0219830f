/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of moves: tasks are pieces of large moves, or runs of small ones. */
#include "kernels/move/move_list.h"

#include "machine/machine.h"

#include <assert.h>

static int64_t box_bytes(const ry_box *box)
{
    int64_t bytes = (int64_t)box->size;
    for (int i = 0; i < box->rank; i++) {
        bytes *= box->dim[i];
    }
    return bytes;
}

ry_move_list ry_move_list_start(const ry_query *query, ry_move *moves)
{
    const double bytes = ry_problem_bytes(query->problem) / 2; /* each is read and written */
    const ry_machine *machine = query->target->machine;
    return (ry_move_list){
        .moves = moves, .machine = machine, .piece = ry_machine_task_bytes(machine, bytes)};
}

void ry_move_list_add(ry_move_list *list, const ry_move *move)
{
    ry_move added = *move;
    added.size = move->box.size;
    added.box.piece = list->piece;
    ry_box_prepare(&added.box);
    if (added.box.pieces == 0) {
        return;
    }
    list->work += ry_box_work(&added.box, list->machine);
    list->moved += ry_box_moved(&added.box);
    size_t *tasks = &list->tasks[list->phases];
    int64_t bytes = box_bytes(&added.box);
    if (added.box.pieces == 1 && list->filled > 0 && list->filled + bytes <= list->piece) {
        list->filled += bytes;
        added.first_task = *tasks - 1;
    } else {
        list->filled = added.box.pieces == 1 ? bytes : 0;
        added.first_task = *tasks;
        *tasks += added.box.pieces;
    }
    if (list->moves) {
        list->moves[list->count] = added;
    }
    list->phase_end[list->phases] = ++list->count;
}

void ry_move_list_next_phase(ry_move_list *list)
{
    assert(list->phases == 0);
    list->phases = 1;
    list->phase_end[1] = list->count;
    list->filled = 0;
}

size_t ry_move_list_bytes(const ry_move_list *list)
{
    return sizeof *list + list->count * sizeof(ry_move);
}

static void run_piece(const ry_move *move, const ry_cpu_launch *launch, size_t piece)
{
    const char *src = move->from == RY_MOVE_VALUE ? (const char *)&move->value
                      : move->from < 0            ? (const char *)launch->workspace
                                                  : (const char *)launch->in[move->from];
    char *dst = (char *)(move->to < 0 ? launch->workspace : launch->out[move->to]);
    int64_t size = (int64_t)move->size;
    ry_box_copy_piece(&move->box, dst + move->dst_offset * size, src + move->src_offset * size,
                      piece);
}

void ry_move_list_run(const void *state, const ry_cpu_launch *launch, size_t task)
{
    const ry_move_list *list = state;
    const ry_move *moves = (const ry_move *)(list + 1);
    size_t low = launch->phase > 0 ? list->phase_end[0] : 0, high = list->phase_end[launch->phase];
    const size_t end = high;
    while (low < high) { /* the first move that reaches this task */
        size_t middle = low + (high - low) / 2;
        if (moves[middle].first_task + moves[middle].box.pieces > task) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    for (; low < end && moves[low].first_task <= task; low++) {
        run_piece(&moves[low], launch, task - moves[low].first_task);
    }
}
