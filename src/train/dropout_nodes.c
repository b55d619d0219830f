/* SPDX-License-Identifier: Apache-2.0 */
/* Identities in the place of a model's dropouts, and dropouts in the place of those; their
 * gradient is the same dropout of dy, which makes the same mask again. */
#include "train/dropout_nodes.h"

#include "graph/infer.h"
#include "train/gradient.h"

rynd_status ry_training_open_drops(ry_graph *graph, bool keep, ry_error *error)
{
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead || node->drop == 0) {
            continue;
        }
        if (keep && !(node->drop > 0 && node->drop < 1)) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "node '%s' (%s): its ratio must be a constant of the model, from 0 to "
                           "below 1, to be trained; or let nothing be dropped",
                           node->name, node->source);
        }
        node->op = RY_OP_identity;
        node->attrs = ry_attrs_default(RY_OP_identity);
        ry_graph_set_inputs(graph, node, 1, node->in);
        node->drop = keep ? node->drop : 0;
    }
    return RYND_OK;
}

static rynd_status add_drop(ry_graph *graph, ry_node *node, const ry_attrs *attrs, ry_value_id step,
                            ry_error *error)
{
    ry_value_id *in = RY_TAKE(&graph->arena, ry_value_id, 2);
    if (!in) {
        return ry_fail_memory(error);
    }
    in[0] = node->in[0];
    in[1] = step;
    node->op = RY_OP_dropout;
    node->attrs = *attrs;
    node->drop = 0;
    ry_graph_set_inputs(graph, node, 2, in);
    rynd_status status;
    ry_infer_node(graph, node, error, &status);
    return status;
}

rynd_status ry_training_add_drops(ry_graph *graph, uint64_t seed, ry_value_id step, ry_error *error)
{
    ry_attrs attrs = ry_attrs_default(RY_OP_dropout);
    attrs.dropout.seed = (int64_t)seed;
    attrs.dropout.stream = RY_DROP_STREAM;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead || node->drop == 0) {
            continue;
        }
        attrs.dropout.ratio = node->drop;
        RY_TRY(add_drop(graph, node, &attrs, step, error));
        attrs.dropout.stream++;
    }
    return RYND_OK;
}

rynd_status ry_gradient_dropout(const ry_gradient_call *call)
{
    ry_emitter e = ry_gradient_emitter(call);
    const ry_node node = ry_gradient_node(call);
    if (call->wanted[0]) {
        call->dx[0] =
            ry_emit(&e, RY_OP_dropout, &node.attrs, 2, (ry_value_id[]){call->dy[0], node.in[1]});
    }
    return e.status;
}
