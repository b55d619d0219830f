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
           node->op == RY_OP_matmul;
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

ry_node *ry_sole_reader(const ry_quantising *z, ry_value_id value)
{
    const ry_value *v = &z->graph->values[value];
    if (value >= z->values || v->uses != 1 || v->outputs > 0 || v->stored) {
        return NULL;
    }
    ry_node *node = &z->graph->nodes[z->reader[value]];
    return node->op == RY_OP_dead ? NULL : node;
}

ry_value_id ry_known_unsigned(const ry_quantising *z, ry_value_id value)
{
    return z->graph->values[value].dtype == RY_u8 ? value : z->as_unsigned[value];
}

ry_value_id ry_unsigned_of(ry_quantising *z, ry_value_id value)
{
    if (ry_known_unsigned(z, value) == RY_NO_VALUE) {
        ry_emitter emitter = {z->graph, z->graph->values[value].name, z->error, RYND_OK};
        z->as_unsigned[value] = ry_emit_expr(&emitter, "cast(cast(x0, i32) + 128, u8)", 1, &value);
    }
    return ry_known_unsigned(z, value);
}

/* Reads the bounds of an activation such as ReLU and Clip. *found: the node is such an activation. */
static rynd_status bounds_of(const ry_quantising *z, const ry_node *node, double *low, double *high,
                             bool *found)
{
    static const struct {
        const char *text;
        bool low, high;
    } texts[] = {{"max(x0, a)", true, false},
                 {"min(x0, b)", false, true},
                 {"min(max(x0, a), b)", true, true}};
    *found = false;
    if (!node || node->op != RY_OP_expr || node->inputs != 1 || node->outputs != 1) {
        return RYND_OK;
    }
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !*found; i++) {
        ry_expr_parameter parameters[2] = {{"a", 0}, {"b", 0}};
        RY_TRY(ry_expr_match(node->attrs.expr.program, texts[i].text, parameters, 2,
                             z->graph->arena.allocator, found, z->error));
        if (*found) {
            *low = texts[i].low ? parameters[0].value : -INFINITY;
            *high = texts[i].high ? parameters[1].value : INFINITY;
            *found = !isnan(*low) && !isnan(*high) && *low <= *high;
        }
    }
    return RYND_OK;
}

static int64_t quantised(double number, const ry_quantiser *q)
{
    const float rounded = rintf((float)number / q->scale) + (float)q->zero;
    return rounded < 0 ? 0 : rounded > UINT8_MAX ? UINT8_MAX : (int64_t)rounded;
}

static void add_node(const ry_quantising *z, ry_quantised_end *end, const ry_node *node)
{
    end->node[end->nodes++] = (ry_node_id)(node - z->graph->nodes);
}

rynd_status ry_find_quantised_end(const ry_quantising *z, ry_value_id value, ry_quantised_end *end,
                                  bool *found)
{
    double low = -INFINITY, high = INFINITY;
    bool bounded;
    *end = (ry_quantised_end){.nodes = 0};
    const ry_node *node = ry_sole_reader(z, value);
    RY_TRY(bounds_of(z, node, &low, &high, &bounded));
    if (bounded) {
        add_node(z, end, node);
        node = ry_sole_reader(z, node->out[0]);
    }
    *found = ry_find_quantise(z->graph, &z->programs, node, &end->q);
    if (*found) {
        add_node(z, end, node);
        end->out = node->out[0];
        end->low = quantised(low, &end->q);
        end->high = quantised(high, &end->q);
    }
    return RYND_OK;
}

ry_value_id ry_take_end(ry_quantising *z, const ry_quantised_end *end)
{
    ry_graph *graph = z->graph;
    for (int i = 0; i < end->nodes; i++) {
        ry_graph_remove_node(graph, end->node[i]);
    }
    if (graph->values[end->out].dtype == RY_u8) {
        return end->out;
    }
    const ry_shape shape = graph->values[end->out].shape;
    const ry_value_id bytes = ry_graph_add_value(graph, NULL, RY_u8, &shape);
    if (bytes == RY_NO_VALUE) {
        ry_fail_memory(z->error);
        return RY_NO_VALUE;
    }
    ry_emitter emitter = {graph, graph->values[end->out].name, z->error, RYND_OK};
    ry_attrs attrs = ry_attrs_default(RY_OP_expr);
    attrs.expr.program = ry_emit_program(&emitter, "cast(cast(x0, i32) - 128, i8)");
    if (!ry_emit_into(&emitter, RY_OP_expr, &attrs, 1, &bytes, 1, &end->out)) {
        return RY_NO_VALUE;
    }
    z->as_unsigned[end->out] = bytes;
    return bytes;
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
    return node->op == RY_OP_dead   ? RYND_OK
           : is_product(node)       ? ry_quantise_product(z, id)
           : node->op == RY_OP_expr ? ry_quantise_addition(z, id)
                                    : ry_quantise_move(z, id);
}

rynd_status ry_graph_quantise(ry_graph *graph, ry_error *error)
{
    if (!has_bytes(graph)) {
        return RYND_OK;
    }
    ry_quantising z = {.graph = graph,
                       .error = error,
                       .values = graph->value_count,
                       .reader = RY_TAKE(&graph->arena, ry_node_id, graph->value_count),
                       .as_unsigned = RY_TAKE(&graph->arena, ry_value_id, graph->value_count)};
    if (!z.reader || !z.as_unsigned) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_quantise_programs_read(graph, &z.programs, error));
    list_readers(&z);
    const ry_node_id nodes = (ry_node_id)graph->node_count;
    for (ry_node_id n = 0; n < nodes; n++) {
        RY_TRY(quantise_node(&z, n));
    }
    return ry_graph_compact(graph, error);
}
