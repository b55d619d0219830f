/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the gradient of expressions share (gradient_expr.c). */
#ifndef RY_TRAIN_GRADIENT_EXPR_H
#define RY_TRAIN_GRADIENT_EXPR_H

#include "train/bound_expr.h"
#include "train/gradient.h"

/* A node of op expr, as its gradient sees it. */
typedef struct ry_expr_forward {
    ry_node node;
    const ry_expr *program;
    ry_expr_frame frame; /* its shape, its axes, its inputs */
    ry_dtype inputs[RY_EXPR_MAX_INPUTS];
    ry_dtype types[RY_EXPR_MAX_INSTRUCTIONS];
    bool reads_outputs; /* the gradient may read what the node made */
} ry_expr_forward;

/* The gradient of an unreduced instruction: output 0 of `gradient`. Together they are what the
 * pointwise part of the node gets from the rest. */
typedef struct ry_expr_seed {
    int instruction;
    ry_bound_expr gradient;
    ry_value_id known; /* a value that is the instruction's, or RY_NO_VALUE */
} ry_expr_seed;

enum { RY_EXPR_MAX_SEEDS = RY_EXPR_MAX_OUTPUTS };

/* Adds the seeds of what the node's reductions read, from the gradients of the outputs behind
 * them. */
rynd_status ry_expr_seed_reductions(const ry_gradient_call *call, ry_emitter *emitter,
                                    const ry_expr_forward *forward, ry_expr_seed *seeds,
                                    int *count);

/* The rule, for a node whose outputs are not there: the gradient reads its inputs alone. */
rynd_status ry_gradient_expr_of_inputs(const ry_gradient_call *call);

#endif
