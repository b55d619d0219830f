/* SPDX-License-Identifier: Apache-2.0 */
/* A list of moves: the boxes that an operator copies, cut into tasks. Most operators that only move
 * data are such a list.
 *
 * An operator describes its moves twice: for counting (moves NULL), in prepare, and for writing
 * them into the kernel's state, in initialise. */
#ifndef RY_KERNELS_MOVE_MOVE_LIST_H
#define RY_KERNELS_MOVE_MOVE_LIST_H

#include "kernels/kernel.h"
#include "kernels/move/strided_copy.h"

/* Sources and destinations of a move: the index of an input or output, or one of these. */
#define RY_MOVE_VALUE     (-1) /* source only: the move's own value, with strides 0 */
#define RY_MOVE_WORKSPACE (-2)

typedef struct ry_move {
    int from, to;
    int64_t src_offset, dst_offset; /* elements */
    size_t size;                    /* bytes of an element */
    uint64_t value;                 /* the bits of one element, in memory order */
    size_t first_task;              /* within its phase; small moves share a task */
    ry_box box;
} ry_move;

typedef struct ry_move_list {
    ry_move *moves;
    size_t count;
    size_t phase_end[2]; /* how many moves come before the end of a phase */
    int phases;
    size_t tasks[2];
    int64_t piece;             /* bytes of a task: ry_box.piece of every move */
    const ry_machine *machine; /* valid while the moves are described */
    double work, moved;        /* sums over all moves (ry_box_work, ry_box_moved) */
    int64_t filled;            /* bytes in the last task, while it takes more moves */
} ry_move_list;

/* An empty list of the problem's moves, cut into tasks for the machine; moves: NULL, or room for
 * them. */
ry_move_list ry_move_list_start(const ry_query *query, ry_move *moves);
/* `box` is added as described so far; it is prepared here. Empty boxes are left out. */
void ry_move_list_add(ry_move_list *list, const ry_move *move);
/* What follows reads what was written before. */
void ry_move_list_next_phase(ry_move_list *list);

/* State: the list (its pointer is not used), then the moves. */
size_t ry_move_list_bytes(const ry_move_list *list);
void ry_move_list_run(const void *state, const ry_cpu_launch *launch, size_t task);

#endif
