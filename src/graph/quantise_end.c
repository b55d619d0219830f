/* SPDX-License-Identifier: Apache-2.0 */
/* How sums of floats become bytes: finds the nodes behind a sum, and replaces them. */
#include "graph/quantise_inside.h"
#include "graph/rewrite.h"

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
