/* SPDX-License-Identifier: Apache-2.0 */
/* Residual additions and activations into the batch normalisations before them. */
#include "train/fuse_norm.h"

#include "expr/expr.h"
#include "graph/rewrite.h"

enum { RESIDUAL = 5 };

/* What of activations.inc a batch normalisation takes. */
static const struct {
    ry_activation activation;
    const char *text;
} activations[] = {
    {RY_activation_relu, "max(x0, 0)"},
    {RY_activation_clip, "min(max(x0, a), b)"},
};

static bool is_pointwise(const ry_node *node)
{
    return node->op == RY_OP_expr && node->outputs == 1 && !node->attrs.expr.axes_input &&
           !node->attrs.expr.program->reduces;
}

/* The normalisation without an activation whose result is read by nothing but `reader`, which
 * makes a value like it. */
static ry_node *open_norm(const ry_graph *graph, ry_value_id value, const ry_node *reader)
{
    ry_node *norm = ry_rewrite_inner(graph, value, RY_OP_batch_norm_train);
    const ry_value *y = &graph->values[reader->out[0]];
    return norm && norm->out[0] == value &&
                   norm->attrs.batch_norm_train.activation == RY_activation_none &&
                   y->dtype == graph->values[value].dtype &&
                   ry_shape_equal(&y->shape, &graph->values[value].shape)
               ? norm
               : NULL;
}

static void take_output(ry_graph *graph, ry_node *norm, ry_node_id reader)
{
    const ry_value_id y = graph->nodes[reader].out[0];
    ry_graph_remove_node(graph, reader);
    norm->out[0] = y;
    graph->values[y].producer = (ry_node_id)(norm - graph->nodes);
}

static rynd_status take_activation(ry_graph *graph, ry_node_id reader, bool *changed,
                                   ry_error *error)
{
    const ry_node *node = &graph->nodes[reader];
    ry_node *norm = open_norm(graph, node->in[0], node);
    bool found = false;
    for (size_t i = 0; norm && !found && i < sizeof activations / sizeof *activations; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        RY_TRY(ry_expr_match(node->attrs.expr.program, activations[i].text, parameters, 2,
                             graph->arena.allocator, &found, error));
        if (found) {
            ry_batch_norm_train_attrs *attrs = &norm->attrs.batch_norm_train;
            attrs->activation = activations[i].activation;
            attrs->act_alpha = parameters[0].value;
            attrs->act_beta = parameters[1].value;
            take_output(graph, norm, reader);
            *changed = true;
        }
    }
    return RYND_OK;
}

/* Fuses the later of two candidates: the other one's result exists before it. */
static rynd_status take_residual(ry_graph *graph, ry_node_id reader, bool *changed, ry_error *error)
{
    const ry_node *add = &graph->nodes[reader];
    ry_node *best = NULL;
    ry_value_id residual = RY_NO_VALUE;
    for (int i = 0; i < 2; i++) {
        const ry_value_id other = add->in[1 - i];
        ry_node *norm = open_norm(graph, add->in[i], add);
        if (norm && norm > best && other != RY_NO_VALUE &&
            (norm->inputs <= RESIDUAL || norm->in[RESIDUAL] == RY_NO_VALUE) &&
            graph->values[other].dtype == graph->values[add->out[0]].dtype &&
            ry_shape_equal(&graph->values[other].shape, &graph->values[add->out[0]].shape)) {
            best = norm;
            residual = other;
        }
    }
    if (!best) {
        return RYND_OK;
    }
    if (!ry_rewrite_widen(graph, best, RESIDUAL + 1)) {
        return ry_fail_memory(error);
    }
    ry_graph_set_input(graph, best, RESIDUAL, residual);
    take_output(graph, best, reader);
    *changed = true;
    return RYND_OK;
}

rynd_status ry_training_fuse_norms(ry_graph *graph, ry_error *error)
{
    const ry_expr *add;
    bool changed = false;
    RY_TRY(ry_expr_parse("x0 + x1", NULL, 0, &graph->arena, &add, error));
    RY_TRY(ry_rewrite_activation(graph, &changed, error)); /* a clip by constants has one input */
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (!is_pointwise(node)) {
            continue;
        }
        if (node->inputs == 1) {
            RY_TRY(take_activation(graph, n, &changed, error));
        } else if (node->inputs == 2 && ry_rewrite_is_expr(node, add)) {
            RY_TRY(take_residual(graph, n, &changed, error));
        }
    }
    return changed ? ry_graph_compact(graph, error) : RYND_OK;
}
