/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a graph and makes quantised nodes (quantise.h). */
#include "graph/quantise.h"

#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

/* Has the graph a node of bytes at all? */
static bool has_bytes(const ry_graph *graph)
{
    for (ry_value_id v = 0; v < graph->value_count; v++) {
        if (ry_is_byte(graph->values[v].dtype)) {
            return true;
        }
    }
    return false;
}

static bool is_product(const ry_node *node)
{
    return (node->op == RY_OP_conv && node->attrs.conv.dir == RY_direction_fwd) ||
           node->op == RY_OP_convt || node->op == RY_OP_matmul;
}

static bool is_linear(const ry_node *node)
{
    return node->op == RY_OP_resize && node->attrs.resize.mode == RY_resize_mode_linear;
}

/* The node that makes input `i` of bytes; NULL: none does. */
static const ry_node *source_of(const ry_graph *graph, const ry_quantise_programs *programs,
                                const ry_node *node, int i)
{
    const ry_node *found = i < node->inputs ? ry_rewrite_producer(graph, node->in[i]) : NULL;
    return ry_is_dequantise(programs, found) || ry_is_centring(programs, found) ? found : NULL;
}

static bool is_constant(const ry_graph *graph, const ry_node *source)
{
    return source && graph->values[source->in[0]].constant;
}

rynd_status ry_graph_hold_weights(ry_graph *graph, bool *held, bool *any, ry_error *error)
{
    *any = false;
    if (!has_bytes(graph)) {
        return RYND_OK;
    }
    ry_quantise_programs programs;
    RY_TRY(ry_quantise_programs_read(graph, &programs, error));
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (!is_product(node) || !source_of(graph, &programs, node, 0)) {
            continue;
        }
        for (int i = 1; i < 3; i++) {
            const ry_node *weights = source_of(graph, &programs, node, i);
            if (is_constant(graph, weights) && graph->values[weights->out[0]].uses == 1) {
                held[weights - graph->nodes] = *any = true;
            }
        }
    }
    return RYND_OK;
}

static void list_readers(ry_quantising *z)
{
    for (ry_value_id v = 0; v < z->values; v++) {
        z->reader[v] = RY_NO_NODE;
        z->as_unsigned[v] = RY_NO_VALUE;
    }
    for (ry_node_id n = 0; n < z->graph->node_count; n++) {
        const ry_node *node = &z->graph->nodes[n];
        for (int i = 0; i < node->inputs; i++) {
            if (node->in[i] != RY_NO_VALUE) {
                z->reader[node->in[i]] = n;
            }
        }
    }
}

static rynd_status quantise_node(ry_quantising *z, ry_node_id id)
{
    const ry_node *node = &z->graph->nodes[id];
    if (node->op == RY_OP_expr) {
        RY_TRY(ry_quantise_again(z, id));
        if (z->graph->nodes[id].op != RY_OP_dead) {
            RY_TRY(ry_quantise_addition(z, id));
        }
        return z->graph->nodes[id].op == RY_OP_dead ? RYND_OK : ry_quantise_average(z, id);
    }
    if (node->op == RY_OP_pool && node->attrs.pool.kind == RY_pool_kind_average) {
        return ry_quantise_average(z, id);
    }
    return node->op == RY_OP_dead ? RYND_OK
           : is_product(node)     ? ry_quantise_product(z, id)
           : is_linear(node)      ? ry_quantise_resize(z, id)
                                  : ry_quantise_move(z, id);
}

typedef rynd_status (*node_change)(ry_quantising *z, ry_node_id id);

/* Changes the nodes that the graph has at first, and sorts what became of it. */
static rynd_status walk(ry_quantising *z, node_change change)
{
    ry_graph *graph = z->graph;
    z->values = graph->value_count;
    z->reader = RY_TAKE(&graph->arena, ry_node_id, graph->value_count);
    z->as_unsigned = RY_TAKE(&graph->arena, ry_value_id, graph->value_count);
    if (!z->reader || !z->as_unsigned) {
        return ry_fail_memory(z->error);
    }
    list_readers(z);
    const ry_node_id nodes = (ry_node_id)graph->node_count;
    for (ry_node_id n = 0; n < nodes; n++) {
        RY_TRY(change(z, n));
    }
    return ry_graph_compact(graph, z->error);
}

rynd_status ry_graph_quantise(ry_graph *graph, ry_error *error)
{
    if (!has_bytes(graph)) {
        return RYND_OK;
    }
    ry_quantising z = {.graph = graph, .error = error};
    RY_TRY(ry_quantise_programs_read(graph, &z.programs, error));
    RY_TRY(walk(&z, ry_quantise_concat));
    RY_TRY(walk(&z, ry_quantise_share));
    return walk(&z, quantise_node);
}
