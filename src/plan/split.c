/* SPDX-License-Identifier: Apache-2.0 */
/* Head and rest of a graph whose shapes depend on data. */
#include "plan/split.h"

static bool late(const ry_graph *graph, const bool *later, ry_value_id id)
{
    ry_node_id producer = graph->values[id].producer;
    return producer != RY_NO_NODE && later[producer];
}

/* Extents that only data tells are open again in the rest: the session fills them in. */
static void open_bounded(ry_graph *rest, ry_value_id id)
{
    ry_value *value = &rest->values[id];
    if (value->bounded) {
        value->bounded = false;
        for (int d = 0; d < value->shape.rank; d++) {
            value->shape.dim[d] = ry_dim_unknown(rest);
        }
    }
}

static rynd_status collect_boundary(ry_graph *graph, const bool *later, ry_graph *rest,
                                    ry_error *error)
{
    bool *taken = RY_TAKE(&graph->arena, bool, graph->value_count);
    if (!taken) {
        return ry_fail_memory(error);
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if (node->op == RY_OP_dead || !later[n]) {
            continue;
        }
        for (int i = 0; i < node->inputs; i++) {
            ry_value_id id = node->in[i];
            if (id == RY_NO_VALUE || taken[id] || graph->values[id].constant ||
                late(graph, later, id)) {
                continue;
            }
            taken[id] = true;
            open_bounded(rest, id);
            rest->values[id].producer = RY_NO_NODE;
            if (!ry_graph_add_input(rest, id) || !ry_graph_add_output(graph, id)) {
                return ry_fail_memory(error);
            }
        }
    }
    return RYND_OK;
}

static rynd_status divide(ry_graph *graph, const bool *later, ry_graph *rest, ry_error *error)
{
    size_t outputs = graph->output_count;
    /* the clone's copy: it keeps its content while both lists are made anew */
    const ry_value_id *output = rest->outputs;
    rest->input_count = 0;
    ry_graph_clear_outputs(rest);
    ry_graph_clear_outputs(graph);
    for (size_t i = 0; i < outputs; i++) {
        if (!ry_graph_add_output(late(graph, later, output[i]) ? rest : graph, output[i])) {
            return ry_fail_memory(error);
        }
    }
    RY_TRY(collect_boundary(graph, later, rest, error));
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        if (graph->nodes[n].op != RY_OP_dead) {
            ry_graph_remove_node(later[n] ? graph : rest, n);
        }
    }
    RY_TRY(ry_graph_compact(graph, error));
    return ry_graph_compact(rest, error);
}

rynd_status ry_plan_split(ry_graph *graph, const bool *later, ry_graph **rest, ry_error *error)
{
    *rest = NULL;
    bool any = false;
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        any |= graph->nodes[n].op != RY_OP_dead && later[n];
    }
    if (!any) {
        return RYND_OK;
    }
    RY_TRY(ry_graph_clone(graph, rest, error));
    rynd_status status = divide(graph, later, *rest, error);
    if (status != RYND_OK) {
        ry_graph_destroy(*rest);
        *rest = NULL;
    }
    return status;
}
