/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that give back elements of theirs, between dequantising and quantising by the same
 * numbers, work on bytes. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

#include <string.h>

static bool moves(const ry_node *node)
{
    switch (node->op) {
    case RY_OP_pool: return node->attrs.pool.kind == RY_pool_kind_max && node->outputs == 1;
    case RY_OP_transpose:
    case RY_OP_depth_to_space:
    case RY_OP_space_to_depth:
    case RY_OP_slice:
    case RY_OP_reshape:
    case RY_OP_flatten:
    case RY_OP_squeeze:
    case RY_OP_unsqueeze:
    case RY_OP_identity: return node->outputs == 1;
    default: return false;
    }
}

rynd_status ry_quantise_move(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    const ry_node *node = &graph->nodes[id];
    ry_quantiser from;
    ry_quantised_end end;
    bool found;
    if (!moves(node)) {
        return RYND_OK;
    }
    const ry_node *dequantise = ry_find_dequantise(graph, &z->programs, node->in[0], &from);
    if (!dequantise || graph->values[dequantise->in[0]].constant) {
        return RYND_OK;
    }
    const ry_value_id x = dequantise->in[0];
    RY_TRY(ry_find_quantised_end(z, node->out[0], &end, &found));
    if (!found || end.nodes != 1 || end.q.scale != from.scale || end.q.zero != from.zero) {
        return RYND_OK;
    }
    const ry_value_id bytes = ry_unsigned_of(z, x), y = ry_take_end(z, &end);
    if (bytes == RY_NO_VALUE || y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_node *move = &graph->nodes[id];
    ry_graph_set_input(graph, move, 0, bytes);
    move->out[0] = y;
    graph->values[y].producer = id;
    return RYND_OK;
}
