/* SPDX-License-Identifier: Apache-2.0 */
/* Verification of a graph's structure, before inference or planning trusts it. */
#include "graph/infer.h"
#include "graph/infer_table.h"

typedef enum origin { ORIGIN_NONE, ORIGIN_INPUT, ORIGIN_CONSTANT, ORIGIN_NODE } origin;

typedef struct checked {
    const ry_graph *graph;
    unsigned char *origins; /* indexed by value */
    ry_error *error;
} checked;

static rynd_status check_value(const checked *c, size_t id)
{
    const ry_value *value = &c->graph->values[id];
    ry_error *error = c->error;
    if (!value->name || ry_graph_find(c->graph, value->name) != id) {
        return ry_fail(error, RYND_ERROR_FORMAT, "two values are named '%s'",
                       value->name ? value->name : "");
    }
    if (value->dtype < RY_NONE || value->dtype >= RY_DTYPES || value->shape.rank < -1 ||
        value->shape.rank > RY_MAX_RANK) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "value '%s' has type %d and rank %d, expected at most rank %d", value->name,
                       (int)value->dtype, value->shape.rank, RY_MAX_RANK);
    }
    for (int d = 0; d < value->shape.rank; d++) {
        if (value->shape.dim[d] < -(int64_t)c->graph->symbol_count ||
            value->shape.dim[d] > RY_MAX_DIM) {
            return ry_fail(error, RYND_ERROR_FORMAT,
                           "value '%s': dim %d is no symbol and no size from 0 to 2^62",
                           value->name, d);
        }
    }
    if (value->constant &&
        (value->dtype == RY_NONE || ry_shape_bytes(&value->shape, value->dtype) < 0)) {
        return ry_fail(error, RYND_ERROR_FORMAT,
                       "constant '%s' must have a type and a shape of numbers", value->name);
    }
    c->origins[id] = value->constant ? ORIGIN_CONSTANT : ORIGIN_NONE;
    return RYND_OK;
}

static rynd_status check_inputs(const checked *c)
{
    for (size_t i = 0; i < c->graph->input_count; i++) {
        ry_value_id id = c->graph->inputs[i];
        if (id >= c->graph->value_count) {
            return ry_fail(c->error, RYND_ERROR_FORMAT, "graph input %zu is no value of the graph",
                           i);
        }
        if (c->origins[id] != ORIGIN_NONE) {
            return ry_fail(
                c->error, RYND_ERROR_FORMAT, "graph input '%s' %s", c->graph->values[id].name,
                c->origins[id] == ORIGIN_INPUT ? "is named twice" : "is a constant as well");
        }
        if (c->graph->values[id].dtype == RY_NONE) {
            return ry_fail(c->error, RYND_ERROR_FORMAT, "graph input '%s' has no type",
                           c->graph->values[id].name);
        }
        c->origins[id] = ORIGIN_INPUT;
    }
    return RYND_OK;
}

static rynd_status check_states(const checked *c)
{
    const ry_graph *graph = c->graph;
    for (size_t i = 0; i < graph->state_count; i++) {
        const ry_state *state = &graph->states[i];
        if (state->input >= graph->input_count || state->output >= graph->output_count) {
            return ry_fail(c->error, RYND_ERROR_FORMAT,
                           "state %zu names an input or an output that there is not", i);
        }
        const ry_value *from = &graph->values[graph->inputs[state->input]],
                       *to = &graph->values[graph->outputs[state->output]];
        const bool known = to->dtype != RY_NONE && to->shape.rank >= 0;
        if (known && (from->dtype != to->dtype || !ry_shape_equal(&from->shape, &to->shape))) {
            return ry_fail(c->error, RYND_ERROR_SHAPE,
                           "state '%s' becomes '%s', which has another type or shape", from->name,
                           to->name);
        }
    }
    return RYND_OK;
}

static rynd_status check_results(const checked *c, const ry_node *node)
{
    const char *what[] = {
        [ORIGIN_INPUT] = "a graph input", [ORIGIN_NODE] = "an output of another node"};
    for (int i = 0; i < node->outputs; i++) {
        ry_value_id id = node->out[i];
        if (id == RY_NO_VALUE) {
            continue;
        }
        if (id >= c->graph->value_count) {
            return ry_fail(c->error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): output %d is no value of the graph", node->name,
                           node->source, i);
        }
        unsigned char before = c->origins[id];
        if (before == ORIGIN_INPUT || before == ORIGIN_NODE) {
            return ry_fail(c->error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): output %d, value '%s', is %s as well", node->name,
                           node->source, i, c->graph->values[id].name, what[before]);
        }
        /* A constant with a node is what inference found out already. */
        c->origins[id] = ORIGIN_NODE;
    }
    return RYND_OK;
}

static rynd_status check_uses(const checked *c, const ry_node *node)
{
    for (int i = 0; i < node->inputs; i++) {
        ry_value_id id = node->in[i];
        if (id != RY_NO_VALUE && (id >= c->graph->value_count || c->origins[id] == ORIGIN_NONE)) {
            return ry_fail(
                c->error, RYND_ERROR_FORMAT,
                "node '%s' (%s): input %d, value '%s', is no input, constant or output of a node",
                node->name, node->source, i,
                id < c->graph->value_count ? c->graph->values[id].name : "?");
        }
    }
    return RYND_OK;
}

static bool types_known(const ry_graph *graph, const ry_node *node)
{
    for (int i = 0; i < node->inputs; i++) {
        if (node->in[i] != RY_NO_VALUE && graph->values[node->in[i]].dtype == RY_NONE) {
            return false;
        }
    }
    return true;
}

static rynd_status check_outputs(const checked *c)
{
    for (size_t i = 0; i < c->graph->output_count; i++) {
        ry_value_id id = c->graph->outputs[i];
        if (id >= c->graph->value_count || c->origins[id] == ORIGIN_NONE) {
            return ry_fail(c->error, RYND_ERROR_FORMAT,
                           "graph output %zu, '%s', is computed by no node", i,
                           id < c->graph->value_count ? c->graph->values[id].name : "?");
        }
    }
    return RYND_OK;
}

static rynd_status check_nodes(const checked *c)
{
    const ry_graph *graph = c->graph;
    for (size_t n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead) {
            continue;
        }
        if (node->op < 0 || node->op > RY_OP_dead) {
            return ry_fail(c->error, RYND_ERROR_FORMAT, "node '%s': operator number %d", node->name,
                           (int)node->op);
        }
        RY_TRY(ry_infer_check_arity(node, c->error));
        RY_TRY(check_results(c, node));
    }
    for (size_t n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead) {
            continue;
        }
        RY_TRY(check_uses(c, node));
        if (types_known(graph, node)) {
            RY_TRY(ry_infer_check_types(graph, node, c->error));
        }
    }
    return RYND_OK;
}

static rynd_status check_all(const checked *c)
{
    for (size_t v = 0; v < c->graph->value_count; v++) {
        RY_TRY(check_value(c, v));
    }
    RY_TRY(check_inputs(c));
    RY_TRY(check_nodes(c));
    RY_TRY(check_outputs(c));
    return check_states(c);
}

rynd_status ry_graph_verify(const ry_graph *graph, ry_error *error)
{
    const ry_allocator *allocator = graph->arena.allocator;
    checked c = {graph, ry_allocate_array(allocator, graph->value_count, 1), error};
    if (!c.origins) {
        return ry_fail_memory(error);
    }
    rynd_status status = check_all(&c);
    ry_release(allocator, c.origins);
    return status;
}
