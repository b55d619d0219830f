/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's data gradient becomes the transposed convolution of the output's gradient that it
 * is, of the same weights: all that is there for transposed convolutions applies. */
#include "graph/rewrite.h"
#include "problem/window.h"

rynd_status ry_rewrite_data_gradient(ry_graph *graph, bool *changed, ry_error *error)
{
    (void)error;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_node *node = &graph->nodes[n];
        if (node->op != RY_OP_conv || node->attrs.conv.dir != RY_direction_bwd_data) {
            continue;
        }
        const ry_shape *dx = &graph->values[node->out[0]].shape;
        node->attrs = ry_window_data_gradient_attrs(&node->attrs, dx->rank - 2, dx->dim + 2,
                                                    graph->values[node->in[0]].shape.dim + 2,
                                                    graph->values[node->in[1]].shape.dim + 2);
        node->op = RY_OP_convt;
        *changed = true;
    }
    return RYND_OK;
}
