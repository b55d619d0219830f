/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites that replace one node by nodes of other operators. */
#ifndef RY_GRAPH_REWRITE_RULE_H
#define RY_GRAPH_REWRITE_RULE_H

#include "graph/emitter.h"

/* The node that a rule replaces. */
typedef struct ry_rule_call {
    ry_emitter emitter;
    ry_node node;   /* as it was */
    ry_shape shape; /* input 0 */
    ry_dtype dtype;
} ry_rule_call;

/* Emits the nodes that compute the node, and returns its output 0. Gives the other outputs by
 * ry_rule_give. */
typedef ry_value_id (*ry_rule)(ry_rule_call *call);
/* The rule for a node that has input 0 and output 0; NULL: the node stays. */
typedef ry_rule (*ry_rule_of)(const ry_graph *graph, const ry_node *node);

rynd_status ry_rewrite_by_rules(ry_graph *graph, ry_rule_of rule_of, bool *changed,
                                ry_error *error);

static inline bool ry_rule_has_input(const ry_node *node, int i)
{
    return i < node->inputs && node->in[i] != RY_NO_VALUE;
}

/* `value` becomes output `output` in the output's own type and shape, unless it is absent. */
void ry_rule_give(ry_rule_call *call, int output, ry_value_id value);
/* `value` in another type. */
ry_value_id ry_rule_cast(ry_rule_call *call, ry_value_id value, ry_dtype dtype);
/* [C] as [C, 1, ..]: broadcasts along dim 1 of input 0. */
ry_value_id ry_rule_along_channels(ry_rule_call *call, ry_value_id value);

static inline ry_value_id ry_rule_expr(ry_rule_call *call, const char *text, int inputs,
                                       const ry_value_id *in)
{
    return ry_emit_expr(&call->emitter, text, inputs, in);
}

#endif
