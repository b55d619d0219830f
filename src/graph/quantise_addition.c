/* SPDX-License-Identifier: Apache-2.0 */
/* A sum of two dequantised values that is quantised again: into the quantised convolution that makes
 * one of them. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

/* An operand of the sum. */
typedef struct operand {
    const ry_node *dequantise;
    ry_quantiser q;
    ry_value_id bytes;    /* signed or not */
    ry_node *convolution; /* makes the bytes for this sum alone, and has no residual; or NULL */
} operand;

/* The quantised convolution that makes `bytes`, which are read by `reader` alone. */
static ry_node *own_convolution(const ry_quantising *z, ry_value_id bytes)
{
    const ry_graph *graph = z->graph;
    const ry_value_id value = ry_known_unsigned(z, bytes);
    ry_node *node = ry_rewrite_producer(graph, value);
    const ry_value *read = &graph->values[bytes],
                   *made = value == RY_NO_VALUE ? NULL : &graph->values[value];
    const bool alone =
        made && read->uses == 1 && read->outputs == 0 && made->uses == 1 && made->outputs == 0;
    return alone && node && node->op == RY_OP_qconv && !node->attrs.qconv.dequantise &&
                   node->in[4] != RY_NO_VALUE && node->in[3] == RY_NO_VALUE
               ? node
               : NULL;
}

static bool read_operand(const ry_quantising *z, ry_value_id value, operand *o)
{
    o->dequantise = ry_find_dequantise(z->graph, &z->programs, value, &o->q);
    if (!o->dequantise) {
        return false;
    }
    o->bytes = o->dequantise->in[0];
    const ry_value *floats = &z->graph->values[value];
    const bool alone = floats->uses == 1 && floats->outputs == 0;
    o->convolution =
        alone && !z->graph->values[o->bytes].constant ? own_convolution(z, o->bytes) : NULL;
    return o->bytes < z->values;
}

/* Adds `other` inside the convolution of `own`. */
static rynd_status take_addition(ry_quantising *z, ry_node_id id, const operand *own,
                                 const operand *other, const ry_quantised_end *end)
{
    ry_graph *graph = z->graph;
    const ry_node_id convolution = (ry_node_id)(own->convolution - graph->nodes),
                     dequantise = (ry_node_id)(own->dequantise - graph->nodes);
    const ry_value_id bytes = own->bytes;
    const ry_value_id residual = ry_unsigned_of(z, other->bytes);
    if (residual == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_graph_remove_node(graph, id);
    ry_graph_remove_node(graph, dequantise);
    if (graph->values[bytes].dtype == RY_i8) {
        ry_graph_remove_node(graph, graph->values[bytes].producer);
    }
    const ry_value_id y = ry_take_end(z, end);
    if (y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_node *node = &graph->nodes[convolution];
    ry_qconv_attrs *a = &node->attrs.qconv;
    a->sum_zero = a->zero;
    a->sum_low = a->low;
    a->sum_high = a->high;
    a->sum_scale = (double)(own->q.scale / end->q.scale);
    a->residual_zero = other->q.zero;
    a->residual_scale = (double)(other->q.scale / end->q.scale);
    a->zero = end->q.zero;
    a->low = end->low;
    a->high = end->high;
    ry_graph_set_input(graph, node, 3, residual);
    node->out[0] = y;
    graph->values[y].producer = convolution;
    return RYND_OK;
}

rynd_status ry_quantise_addition(ry_quantising *z, ry_node_id id)
{
    const ry_node *node = &z->graph->nodes[id];
    operand operands[2];
    ry_quantised_end end;
    bool found;
    if (node->inputs != 2 || node->outputs != 1 || !ry_rewrite_is_expr(node, z->programs.add) ||
        node->in[0] == node->in[1] || !read_operand(z, node->in[0], &operands[0]) ||
        !read_operand(z, node->in[1], &operands[1]) ||
        !ry_shape_equal(&z->graph->values[node->in[0]].shape,
                        &z->graph->values[node->in[1]].shape)) {
        return RYND_OK;
    }
    /* the later one: the other's result exists by then */
    const int own = operands[1].convolution > operands[0].convolution;
    RY_TRY(ry_find_quantised_end(z, node->out[0], &end, &found));
    if (!found || !operands[own].convolution) {
        return RYND_OK;
    }
    return take_addition(z, id, &operands[own], &operands[1 - own], &end);
}
