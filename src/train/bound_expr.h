/* SPDX-License-Identifier: Apache-2.0 */
/* Programs with the values that they read: what gradients of expressions are put together from
 * before they become nodes. */
#ifndef RY_TRAIN_BOUND_EXPR_H
#define RY_TRAIN_BOUND_EXPR_H

#include "expr/expr.h"
#include "graph/emitter.h"

typedef struct ry_bound_expr {
    const ry_expr *program;             /* in the graph's arena */
    ry_value_id in[RY_EXPR_MAX_INPUTS]; /* RY_NO_VALUE: of an input that it does not use */
} ry_bound_expr;

/* What one node computes, and where. */
typedef struct ry_expr_frame {
    ry_shape shape; /* that all inputs broadcast to */
    ry_ints axes;   /* reduced */
    /* values that together have the shape: read by name only, where what the program reads has less
     */
    int cover_count;
    const ry_value_id *cover;
} ry_expr_frame;

/* A text; `inputs` values of it. False on failure, as all of these. */
bool ry_bound_parse(ry_emitter *emitter, const char *text, int inputs, const ry_value_id *in,
                    ry_bound_expr *bound);
/* Output 0 of `inner` in place of an input of `outer`, whose inputs before that one keep their
 * places. */
bool ry_bound_put(ry_emitter *emitter, ry_bound_expr *outer, int input, const ry_bound_expr *inner);
/* Some outputs, some of them summed; without inputs that are not used, and each value once. */
bool ry_bound_outputs(ry_emitter *emitter, const ry_bound_expr *from, const int *outputs,
                      const bool *summed, int count, ry_bound_expr *picked);
bool ry_bound_uses(const ry_bound_expr *bound, int input);
/* Whether the inputs broadcast to the shape. */
bool ry_bound_covers(const ry_emitter *emitter, const ry_bound_expr *bound, const ry_shape *shape);

/* Emits the expression as a node. Reduced dims stay, as 1. */
bool ry_bound_emit(ry_emitter *emitter, const ry_bound_expr *bound, const ry_expr_frame *frame,
                   ry_value_id *out);

#endif
