/* SPDX-License-Identifier: Apache-2.0 */
/* A deformable convolution becomes its columns (every tap of every channel, sampled) and the 1x1
 * convolution of them: all that is there for convolutions applies. */
#include "graph/rewrite.h"

#include <string.h>

static bool is_empty(const ry_graph *graph, const ry_node *node)
{
    return ry_shape_elements(&graph->values[node->in[0]].shape) <= 0 ||
           ry_shape_elements(&graph->values[node->in[1]].shape) <= 0 ||
           ry_shape_elements(&graph->values[node->out[0]].shape) <= 0;
}

/* Adds a node that makes a new value; RY_NO_VALUE: out of memory. */
static ry_value_id emit(ry_graph *graph, const ry_node *from, ry_op op, const ry_attrs *attrs,
                        int inputs, const ry_value_id *in, const ry_shape *shape)
{
    const ry_value_id out = ry_graph_add_value(graph, NULL, graph->values[in[0]].dtype, shape);
    if (out == RY_NO_VALUE || ry_graph_add_node(graph, op, from->name, from->source, attrs, inputs,
                                                in, 1, &out) == RY_NO_NODE) {
        return RY_NO_VALUE;
    }
    return out;
}

/* w[K, C, taps..] as [K, taps * C, 1..]. */
static ry_value_id make_weights(ry_graph *graph, const ry_node *node)
{
    const ry_shape w = graph->values[node->in[1]].shape;
    ry_attrs turn = ry_attrs_default(RY_OP_transpose), join = ry_attrs_default(RY_OP_reshape);
    ry_shape turned = {.rank = w.rank, .dim = {w.dim[0]}};
    join.reshape.shape = (ry_ints){w.rank, {w.dim[0], 1}};
    turn.transpose.perm = (ry_ints){.count = w.rank};
    for (int d = 1; d < w.rank; d++) {
        const int from = d == w.rank - 1 ? 1 : d + 1;
        turn.transpose.perm.at[d] = from;
        turned.dim[d] = w.dim[from];
        join.reshape.shape.at[1] *= w.dim[d];
        if (d > 1) {
            join.reshape.shape.at[d] = 1;
        }
    }
    const ry_shape joined = ry_shape_of(w.rank, join.reshape.shape.at);
    const ry_value_id made = emit(graph, node, RY_OP_transpose, &turn, 1, &node->in[1], &turned);
    return made == RY_NO_VALUE ? made : emit(graph, node, RY_OP_reshape, &join, 1, &made, &joined);
}

static ry_value_id make_columns(ry_graph *graph, const ry_node *node)
{
    const ry_deform_conv_attrs *a = &node->attrs.deform_conv;
    const ry_shape *w = &graph->values[node->in[1]].shape, *x = &graph->values[node->in[0]].shape;
    const ry_value_id in[] = {node->in[0], node->in[2],
                              node->inputs > 4 ? node->in[4] : RY_NO_VALUE};
    ry_attrs attrs = ry_attrs_default(RY_OP_deform_columns);
    attrs.deform_columns = (ry_deform_columns_attrs){.kernel = {.count = w->rank - 2},
                                                     .stride = a->stride,
                                                     .dilation = a->dilation,
                                                     .pads = a->pads,
                                                     .groups = a->groups,
                                                     .offset_groups = a->offset_groups};
    ry_shape shape = graph->values[node->out[0]].shape;
    shape.dim[1] = x->dim[1];
    for (int d = 2; d < w->rank; d++) {
        attrs.deform_columns.kernel.at[d - 2] = w->dim[d];
        shape.dim[1] *= w->dim[d];
    }
    return emit(graph, node, RY_OP_deform_columns, &attrs, in[2] == RY_NO_VALUE ? 2 : 3, in,
                &shape);
}

static rynd_status split_node(ry_graph *graph, ry_node_id n, ry_error *error)
{
    const ry_node node = graph->nodes[n];
    const ry_value_id columns = make_columns(graph, &node);
    const ry_value_id weights = columns == RY_NO_VALUE ? columns : make_weights(graph, &node);
    if (weights == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    const ry_value_id bias = node.inputs > 3 ? node.in[3] : RY_NO_VALUE;
    ry_node *conv = &graph->nodes[n];
    conv->op = RY_OP_conv;
    conv->attrs = ry_attrs_default(RY_OP_conv);
    conv->attrs.conv.groups = node.attrs.deform_conv.groups;
    for (int i = 2; i < conv->inputs; i++) {
        ry_graph_set_input(graph, conv, i, RY_NO_VALUE);
    }
    ry_graph_set_input(graph, conv, 0, columns);
    ry_graph_set_input(graph, conv, 1, weights);
    ry_graph_set_input(graph, conv, 2, bias);
    if (conv->inputs > 4) {
        conv->inputs = 4;
    }
    return RYND_OK;
}

rynd_status ry_rewrite_deform_conv(ry_graph *graph, bool *changed, ry_error *error)
{
    for (ry_node_id n = 0, nodes = (ry_node_id)graph->node_count; n < nodes; n++) {
        if (graph->nodes[n].op == RY_OP_deform_conv && !is_empty(graph, &graph->nodes[n])) {
            RY_TRY(split_node(graph, n, error));
            *changed = true;
        }
    }
    return RYND_OK;
}
