/* SPDX-License-Identifier: Apache-2.0 */
/* Linear enlargements of bytes: DequantizeLinear, Resize, QuantizeLinear with the same numbers is a
 * Resize of the bytes, exact. Halves round to even numbers of steps: to even bytes if the zero point
 * is even. From an odd one they round to odd bytes, whose differences from 255 are even: then 255
 * less the bytes is resized, and the result taken from 255. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"
#include "problem/resize_dyadic.h"

/* Are the sums of bytes exact, and do the two sides have the same numbers? */
static bool is_exact(const ry_graph *graph, const ry_node *node, const ry_quantiser *from,
                     const ry_quantised_end *end)
{
    const ry_shape *x = &graph->values[node->in[0]].shape, *y = &graph->values[node->out[0]].shape;
    return from->scale == end->q.scale && from->zero == end->q.zero && end->nodes == 1 &&
           ry_resize_is_dyadic(&node->attrs.resize, x->rank, x->dim, y->dim);
}

static const char mirror[] = "cast(255 - cast(x0, i32), u8)";

/* Puts a mirror before the Resize and one behind it. */
static rynd_status round_to_odd(ry_quantising *z, ry_node_id id, ry_value_id bytes, ry_value_id y)
{
    ry_graph *graph = z->graph;
    ry_emitter emitter = {graph, graph->nodes[id].name, z->error, RYND_OK};
    const ry_shape shape = graph->values[y].shape;
    const ry_value_id mirrored = ry_emit_expr(&emitter, mirror, 1, &bytes),
                      resized = ry_graph_add_value(graph, NULL, RY_u8, &shape);
    if (mirrored == RY_NO_VALUE || resized == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    ry_graph_set_input(graph, &graph->nodes[id], 0, mirrored);
    graph->nodes[id].out[0] = resized;
    graph->values[resized].producer = id;
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = ry_emit_program(&emitter, mirror);
    ry_emit_into(&emitter, RY_OP_expr, &attrs, 1, &resized, 1, &y);
    return emitter.status;
}

rynd_status ry_quantise_resize(ry_quantising *z, ry_node_id id)
{
    ry_graph *graph = z->graph;
    const ry_node node = graph->nodes[id];
    ry_quantiser from;
    ry_quantised_end end;
    bool found;
    const ry_node *source = ry_find_dequantise(graph, &z->programs, node.in[0], &from);
    RY_TRY(ry_find_quantised_end(z, node.out[0], &end, &found));
    if (!source || !found || graph->values[source->in[0]].constant ||
        !is_exact(graph, &node, &from, &end)) {
        return RYND_OK;
    }
    const ry_value_id bytes = ry_unsigned_of(z, source->in[0]);
    const ry_value_id y = bytes == RY_NO_VALUE ? RY_NO_VALUE : ry_take_end(z, &end);
    if (y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    if (from.zero % 2 != 0) {
        return round_to_odd(z, id, bytes, y);
    }
    ry_graph_set_input(graph, &graph->nodes[id], 0, bytes);
    graph->nodes[id].out[0] = y;
    graph->values[y].producer = id;
    return RYND_OK;
}
