/* SPDX-License-Identifier: Apache-2.0 */
/* Drops nodes that change nothing: identities (inference-time dropout among them), reshapes to the
 * same shape, transposes that keep the order, ... and views that take back what the view before
 * them did. */
#include "expr/expr.h"
#include "graph/rewrite.h"

static bool same_type(const ry_graph *graph, const ry_node *node)
{
    if (node->inputs < 1 || node->in[0] == RY_NO_VALUE || node->outputs < 1 ||
        node->out[0] == RY_NO_VALUE) {
        return false;
    }
    const ry_value *in = &graph->values[node->in[0]], *out = &graph->values[node->out[0]];
    return in->dtype == out->dtype && ry_shape_equal(&in->shape, &out->shape) && !out->bounded;
}

static bool in_order(const ry_ints *perm)
{
    for (int i = 0; i < perm->count; i++) {
        if (perm->at[i] != i) {
            return false;
        }
    }
    return true;
}

/* With input and output of one type and shape. */
static bool changes_nothing(const ry_node *node)
{
    const ry_expr *program = node->attrs.expr.program;
    switch (node->op) {
    case RY_OP_identity:
    case RY_OP_reshape:
    case RY_OP_flatten:
    case RY_OP_squeeze:
    case RY_OP_unsqueeze:
    case RY_OP_expand:
    case RY_OP_tile: return true;
    case RY_OP_concat: return node->inputs == 1;
    case RY_OP_split: return node->outputs == 1;
    case RY_OP_transpose: return in_order(&node->attrs.transpose.perm);
    case RY_OP_pad: return ry_ints_are(&node->attrs.pad.pads, 0);
    case RY_OP_slice:
        return ry_ints_are(&node->attrs.slice.starts, 0) &&
               ry_ints_are(&node->attrs.slice.steps, 1);
    case RY_OP_expr:
        return program->outputs == 1 && program->inputs == 1 &&
               program->code[program->result[0]].code == RY_EXPR_input;
    default: return false;
    }
}

/* Returns the input of the first of two successive views if the second restores its shape and
 * dtype, else RY_NO_VALUE. */
static ry_value_id taken_back(const ry_graph *graph, const ry_node *node)
{
    const ry_node *before =
        ry_op_get_class(node->op) == RY_CLASS_VIEW ? ry_rewrite_producer(graph, node->in[0]) : NULL;
    if (!before || ry_op_get_class(before->op) != RY_CLASS_VIEW) {
        return RY_NO_VALUE;
    }
    const ry_value *x = &graph->values[before->in[0]], *y = &graph->values[node->out[0]];
    return x->dtype == y->dtype && ry_shape_equal(&x->shape, &y->shape) && !y->bounded
               ? before->in[0]
               : RY_NO_VALUE;
}

/* The value that a node only repeats; RY_NO_VALUE where it does something. */
static ry_value_id repeated(const ry_graph *graph, const ry_node *node)
{
    if (node->op == RY_OP_dead) {
        return RY_NO_VALUE;
    }
    return same_type(graph, node) && changes_nothing(node) ? node->in[0] : taken_back(graph, node);
}

rynd_status ry_rewrite_identity(ry_graph *graph, bool *changed, ry_error *error)
{
    /* What stands for each value, so that all are replaced in one walk: nodes are sorted, and what
     * stands for a node's input is known before it. */
    ry_value_id *with = ry_allocate_array(graph->arena.allocator, graph->value_count, sizeof *with);
    if (!with) {
        return ry_fail_memory(error);
    }
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        with[v] = v;
    }
    bool dropped = false;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        /* An output keeps its name, so the node that gives it stays: views cost nothing. */
        const ry_value_id same = repeated(graph, node);
        if (same == RY_NO_VALUE || ry_graph_is_output(graph, node->out[0])) {
            continue;
        }
        with[node->out[0]] = with[same];
        ry_graph_remove_node(graph, n);
        dropped = true;
    }
    if (dropped) {
        ry_graph_replace_values(graph, with);
        *changed = true;
    }
    ry_release(graph->arena.allocator, with);
    return RYND_OK;
}
