/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the product of the input out of recurrent layers. */
#include "graph/split_recurrent.h"

#include "graph/emitter.h"
#include "problem/limits.h"
#include "problem/recurrent.h"

enum { X, W, R, INPUTS = 8 };

rynd_status ry_graph_split_recurrent(ry_graph *graph, ry_node_id n, ry_error *error)
{
    const ry_node node = graph->nodes[n];
    const ry_node_id first = (ry_node_id)graph->node_count;
    ry_emitter e = {.graph = graph, .name = node.name, .error = error};
    ry_value_id in[INPUTS];
    ry_attrs product = ry_attrs_default(RY_OP_matmul);
    product.matmul.trans_b = 1;
    ry_graph_remove_node(graph, n);
    for (int i = 0; i < INPUTS; i++) {
        in[i] = i < node.inputs ? node.in[i] : RY_NO_VALUE;
    }
    const ry_shape w = ry_emit_shape(&e, in[W]),
                   rows = {.rank = 2, .dim = {w.dim[0] * w.dim[1], w.dim[2]}};
    const ry_value_id factors[] = {in[X], ry_emit_reshape(&e, in[W], &rows)};
    in[X] = ry_emit(&e, RY_OP_matmul, &product, 2, factors);
    in[W] = RY_NO_VALUE;
    ry_emit_into(&e, RY_OP_recurrent, &node.attrs, INPUTS, in, node.outputs, node.out);
    for (ry_node_id i = first; i < graph->node_count; i++) {
        graph->nodes[i].source = node.source;
    }
    return e.status;
}

static bool is_small(const ry_graph *graph, const ry_node *node)
{
    if (node->op != RY_OP_recurrent || node->in[W] == RY_NO_VALUE ||
        ry_shape_elements(&graph->values[node->in[X]].shape) <= 0) {
        return false;
    }
    const ry_value *r = &graph->values[node->in[R]];
    const int64_t elements =
        ry_shape_elements(&r->shape) / ry_recurrent_directions(&node->attrs.recurrent);
    const int64_t size = r->dtype == RY_f64 ? (int64_t)sizeof(double) : (int64_t)sizeof(float);
    return elements > 0 && elements <= RY_LIMIT_RECURRENT_STATE / size;
}

rynd_status ry_graph_split_small_recurrent(ry_graph *graph, ry_error *error)
{
    bool any = false;
    for (ry_node_id n = 0, nodes = (ry_node_id)graph->node_count; n < nodes; n++) {
        if (is_small(graph, &graph->nodes[n])) {
            RY_TRY(ry_graph_split_recurrent(graph, n, error));
            any = true;
        }
    }
    return any ? ry_graph_compact(graph, error) : RYND_OK;
}
