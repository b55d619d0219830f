/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of a detection head as values of a graph: boxes, scores and places. */
#ifndef RY_TRAIN_HEAD_CANDIDATES_H
#define RY_TRAIN_HEAD_CANDIDATES_H

#include "graph/emitter.h"
#include "tasks/head.h"

/* A bound graph's outputs, and the head that fits them. */
typedef struct ry_head_view {
    ry_head_outputs outputs;
    ry_head_match match;
} ry_head_view;

/* Finds the head of a graph's outputs; name NULL: recognised. Names are the graph's, lists live in
 * the arena. Fails as ry_head_find does. */
rynd_status ry_head_view_of(const ry_graph *graph, const char *name, ry_arena *arena,
                            ry_head_view *view, ry_error *error);

/* Fails with UNSUPPORTED where no loss fits the head: its candidates are suppressed already, or
 * matched one to one. */
rynd_status ry_head_check_trainable(const ry_head *head, ry_error *error);

/* [N, numbers, A] each, of N pictures and A candidates; RY_NO_VALUE: the head has none. */
typedef struct ry_candidates {
    const ry_head *head;
    int64_t batch, count;   /* N and A */
    int64_t classes;        /* numbers of `scores`, with the background */
    ry_value_id side[4];    /* left, top, right, bottom in pixels of the input */
    ry_value_id object;     /* objectness as the head has it: a logit if head->sigmoid */
    ry_value_id scores;     /* classes as the head has them */
    ry_value_id x, y, size; /* constants [1, 1, A]: centre and side of the cell in pixels */
} ry_candidates;

/* Adds the nodes from a head's outputs to its candidates, in the order of ry_decode. */
rynd_status ry_emit_candidates(ry_emitter *emitter, const ry_head_view *view,
                               ry_candidates *candidates);

#endif
