/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients: one rule an operator (gradients.inc).
 *
 * A rule adds to the graph the nodes that make, of the gradients of a node's outputs, those of its
 * inputs (emitter.h helps). It is expressed in existing operators wherever that is as fast. What
 * the forward node read and made may be read again: its inputs and outputs are alive as long as
 * somebody reads them, which is memory, so a rule that may choose takes what others keep as well.
 */
#ifndef RY_TRAIN_GRADIENT_H
#define RY_TRAIN_GRADIENT_H

#include "graph/emitter.h"

typedef struct ry_gradient_call {
    ry_graph *graph; /* bound: every dim is a number; attributes canonical */
    ry_node_id node; /* a node of the forward graph; adding nodes may move graph->nodes, so hold ids
                      */
    /* per output of the node; RY_NO_VALUE: no gradient; at least one is given */
    const ry_value_id *dy;
    const bool *wanted; /* per input: compute the gradient; at least one is true */
    ry_value_id *dx;    /* out: of each wanted input, its shape; RY_NO_VALUE: zero */
    ry_error *error;
} ry_gradient_call;

typedef rynd_status ry_gradient_rule(const ry_gradient_call *call);

#define RY_GRADIENT(op, rule) ry_gradient_rule rule;
#include "train/gradients.inc"
#undef RY_GRADIENT

/* The rule of an operator; NULL: it has no gradient. */
ry_gradient_rule *ry_gradient_rule_of(ry_op op);

/* A copy of the node, whose lists stay where they are when nodes are added. */
static inline ry_node ry_gradient_node(const ry_gradient_call *call)
{
    return call->graph->nodes[call->node];
}

/* An emitter for the node's gradient: what it makes is named "<node>/grad". */
ry_emitter ry_gradient_emitter(const ry_gradient_call *call);

/* Refuses a case that the rule does not know: "node 'p' (MaxPool): " and the message. */
rynd_status ry_gradient_refuse(const ry_gradient_call *call, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
