/* SPDX-License-Identifier: Apache-2.0 */
/* The importer spells a normalisation in training mode in small nodes, which compute the statistics
 * of the batch. Here they become one. */
#include "train/norm_nodes.h"

#include "graph/emitter.h"

rynd_status ry_training_use_batch(ry_graph *graph, ry_node_id n, double momentum,
                                  const ry_value_id next[2], ry_error *error)
{
    enum { OUTPUTS = 5 };
    ry_value_id *out = RY_TAKE(&graph->arena, ry_value_id, OUTPUTS);
    if (!out) {
        return ry_fail_memory(error);
    }
    out[0] = graph->nodes[n].out[0];
    for (int i = 1; i < OUTPUTS; i++) {
        out[i] = i < 3 ? ry_graph_add_value(graph, NULL, RY_NONE, NULL) : next[i - 3];
        if (out[i] == RY_NO_VALUE) {
            return ry_fail_memory(error);
        }
        graph->values[out[i]].producer = n;
    }
    ry_node *node = &graph->nodes[n];
    const double epsilon = node->attrs.batch_norm.epsilon;
    node->op = RY_OP_batch_norm_train;
    node->attrs = ry_attrs_default(RY_OP_batch_norm_train);
    node->attrs.batch_norm_train.epsilon = epsilon;
    node->attrs.batch_norm_train.momentum = momentum;
    node->out = out;
    node->outputs = OUTPUTS;
    rynd_status status;
    ry_infer_node(graph, node, error, &status);
    return status;
}

/* Elements of a channel; 0: the node stays as it is. */
static int64_t channel_elements(const ry_graph *graph, const ry_node *node)
{
    const ry_shape *x = &graph->values[node->in[0]].shape;
    if (node->op != RY_OP_batch_norm || node->running[0] == RY_NO_VALUE ||
        !node->attrs.batch_norm.spatial || x->rank < 2 || x->dim[1] < 1) {
        return 0;
    }
    for (int i = 0; i < 2; i++) {
        if (graph->values[node->running[i]].dtype != RY_f32) {
            return 0;
        }
    }
    for (int i = 0; i < node->inputs; i++) {
        if (graph->values[node->in[i]].dtype != RY_f32) {
            return 0;
        }
    }
    return ry_shape_elements(x) / x->dim[1];
}

/* With a momentum of 1 the running statistics become the batch's; its variance is the unbiased
 * one. */
static rynd_status join(ry_graph *graph, ry_node_id n, int64_t elements, ry_value_id *with,
                        ry_error *error)
{
    const ry_node old = graph->nodes[n];
    const ry_value_id mean = old.in[3], variance = old.in[4];
    const ry_value_id next[2] = {ry_graph_add_value(graph, NULL, RY_NONE, NULL),
                                 ry_graph_add_value(graph, NULL, RY_NONE, NULL)};
    if (next[0] == RY_NO_VALUE || next[1] == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < 2; i++) {
        ry_graph_set_input(graph, &graph->nodes[n], 3 + i, old.running[i]);
        graph->nodes[n].running[i] = RY_NO_VALUE;
    }
    RY_TRY(ry_training_use_batch(graph, n, 1, next, error));
    const double part = (double)(elements - 1) / (double)elements;
    const ry_expr_parameter parameter = {"p", part};
    ry_emitter e = {.graph = graph, .name = old.name, .error = error};
    with[mean] = next[0];
    with[variance] = ry_emit_expr_with(&e, "x0 * p", &parameter, 1, 1, &next[1]);
    return e.status;
}

static rynd_status join_all(ry_graph *graph, ry_value_id *with, bool *any, ry_error *error)
{
    const size_t nodes = graph->node_count;
    for (ry_node_id n = 0; n < nodes; n++) {
        const int64_t elements = channel_elements(graph, &graph->nodes[n]);
        if (elements > 1) {
            *any = true;
            RY_TRY(join(graph, n, elements, with, error));
        }
    }
    return RYND_OK;
}

rynd_status ry_training_join_batch_norms(ry_graph *graph, ry_error *error)
{
    enum { NEW_VALUES = 6 }; /* per node */
    ry_arena scratch;
    bool any = false;
    ry_arena_init(&scratch, graph->arena.allocator);
    const size_t room = graph->value_count + NEW_VALUES * graph->node_count;
    ry_value_id *with = RY_TAKE(&scratch, ry_value_id, room);
    for (size_t v = 0; with && v < room; v++) {
        with[v] = (ry_value_id)v;
    }
    rynd_status status = with ? join_all(graph, with, &any, error) : ry_fail_memory(error);
    if (status == RYND_OK && any) {
        ry_graph_replace_values(graph, with);
        status = ry_graph_compact(graph, error);
    }
    if (status == RYND_OK && any) {
        status = ry_graph_infer(graph, error);
    }
    ry_arena_free(&scratch);
    return status;
}
