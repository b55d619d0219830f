/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a convolution or matmul point by point moves into it: first a residual addition,
 * then an activation (problem/activations.inc). */
#include "expr/expr.h"
#include "graph/rewrite.h"

typedef struct epilogue {
    ry_activation *activation;
    double *alpha, *beta;
} epilogue;

static const char *const activation_texts[RY_activation_count] = {
#define RY_ACTIVATION(name, text) [RY_activation_##name] = text,
#include "problem/activations.inc"
#undef RY_ACTIVATION
};

/* False for nodes without an epilogue. */
static bool epilogue_of(ry_node *node, epilogue *e)
{
    ry_attrs *a = &node->attrs;
    switch (node->op) {
    case RY_OP_conv:
        *e = (epilogue){&a->conv.activation, &a->conv.act_alpha, &a->conv.act_beta};
        return a->conv.dir == RY_direction_fwd;
    case RY_OP_convt:
        *e = (epilogue){&a->convt.activation, &a->convt.act_alpha, &a->convt.act_beta};
        return true;
    case RY_OP_matmul:
        *e = (epilogue){&a->matmul.activation, &a->matmul.act_alpha, &a->matmul.act_beta};
        return true;
    default: return false;
    }
}

/* The node that makes `value` for `reader` alone and whose epilogue is still open. */
static ry_node *open_node(const ry_graph *graph, ry_value_id value, const ry_node *reader,
                          epilogue *e)
{
    ry_node *node = ry_rewrite_producer(graph, value);
    const ry_value *out = &graph->values[reader->out[0]];
    if (!node || !epilogue_of(node, e) || *e->activation != RY_activation_none ||
        ry_graph_use_count(graph, value) != 1 || ry_graph_is_output(graph, value) ||
        !ry_dtype_is_float(out->dtype) || out->dtype != graph->values[value].dtype ||
        !ry_shape_equal(&out->shape, &graph->values[value].shape)) {
        return NULL;
    }
    return node;
}

static void take_output(ry_graph *graph, ry_node *node, ry_node_id reader)
{
    ry_value_id out = graph->nodes[reader].out[0];
    ry_graph_remove_node(graph, reader);
    node->out[0] = out;
    graph->values[out].producer = (ry_node_id)(node - graph->nodes);
}

static rynd_status take_activation(ry_graph *graph, ry_node_id reader, bool *changed,
                                   ry_error *error)
{
    epilogue e;
    ry_node *node = open_node(graph, graph->nodes[reader].in[0], &graph->nodes[reader], &e);
    for (int i = RY_activation_none + 1; node && i < RY_activation_count; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        bool found;
        RY_TRY(ry_expr_match(graph->nodes[reader].attrs.expr.program, activation_texts[i],
                             parameters, 2, graph->arena.allocator, &found, error));
        if (found) {
            *e.activation = (ry_activation)i;
            *e.alpha = parameters[0].value;
            *e.beta = parameters[1].value;
            take_output(graph, node, reader);
            *changed = true;
            return RYND_OK;
        }
    }
    return RYND_OK;
}

/* Adds the residual in the later of two candidates: the earlier one's result exists by then. */
static rynd_status take_residual(ry_graph *graph, ry_node_id reader, bool *changed, ry_error *error)
{
    const ry_node *add = &graph->nodes[reader];
    ry_node *best = NULL;
    ry_value_id residual = RY_NO_VALUE;
    for (int i = 0; i < 2; i++) {
        epilogue e;
        ry_value_id other = add->in[1 - i];
        ry_node *node = open_node(graph, add->in[i], add, &e);
        const ry_value *value = &graph->values[other], *out = &graph->values[add->out[0]];
        if (node && node > best && (node->inputs < 4 || node->in[3] == RY_NO_VALUE) &&
            value->dtype == out->dtype && ry_shape_equal(&value->shape, &out->shape)) {
            best = node;
            residual = other;
        }
    }
    if (!best) {
        return RYND_OK;
    }
    if (!ry_rewrite_widen(graph, best, 4)) {
        return ry_fail_memory(error);
    }
    ry_graph_set_input(graph, best, 3, residual);
    take_output(graph, best, reader);
    *changed = true;
    return RYND_OK;
}

rynd_status ry_rewrite_epilogue(ry_graph *graph, bool *changed, ry_error *error)
{
    const ry_expr *add;
    RY_TRY(ry_expr_parse("x0 + x1", NULL, 0, &graph->arena, &add, error));
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_expr || node->outputs != 1 || node->attrs.expr.program->reduces) {
            continue;
        }
        if (node->inputs == 1) {
            RY_TRY(take_activation(graph, n, changed, error));
        } else if (node->inputs == 2 && ry_rewrite_is_expr(node, add)) {
            RY_TRY(take_residual(graph, n, changed, error));
        }
    }
    return RYND_OK;
}
