/* SPDX-License-Identifier: Apache-2.0 */
/* Reduces a graph to what lies between values. */
#include "graph/graph_part.h"

/* What a walk from the outputs backwards finds of each value. */
enum { GIVEN = 1, NEEDED = 2 };

static rynd_status mark_inputs(const ry_graph *graph, const ry_value_id *inputs, size_t count,
                               unsigned char *mark, ry_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const ry_value *value = &graph->values[inputs[i]];
        if (value->constant) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "value '%s' is a constant: it cannot be an input", value->name);
        }
        if (value->bounded) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "value '%s' has a shape that depends on data: it cannot be an input",
                           value->name);
        }
        if (mark[inputs[i]] & GIVEN) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "input '%s' is given twice", value->name);
        }
        mark[inputs[i]] |= GIVEN;
    }
    return RYND_OK;
}

static rynd_status mark_outputs(const ry_graph *graph, const ry_value_id *outputs, size_t count,
                                unsigned char *mark, ry_error *error)
{
    for (size_t i = 0; i < count; i++) {
        const ry_value *value = &graph->values[outputs[i]];
        if (value->producer == RY_NO_NODE || mark[outputs[i]] & GIVEN) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "value '%s' is not computed there: it cannot be an output", value->name);
        }
        if (mark[outputs[i]] & NEEDED) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "output '%s' is given twice", value->name);
        }
        mark[outputs[i]] |= NEEDED;
    }
    return RYND_OK;
}

/* Sets *keep if the node makes a needed value; fails if it then makes a given input again. */
static rynd_status look_at(const ry_graph *graph, const ry_node *node, const unsigned char *mark,
                           bool *keep, ry_error *error)
{
    ry_value_id given = RY_NO_VALUE;
    *keep = false;
    for (int i = 0; i < node->outputs; i++) {
        if (node->out[i] != RY_NO_VALUE) {
            *keep |= mark[node->out[i]] == NEEDED;
            given = mark[node->out[i]] & GIVEN ? node->out[i] : given;
        }
    }
    return *keep && given != RY_NO_VALUE
               ? ry_fail(error, RYND_ERROR_ARGUMENT,
                         "input '%s' is made by node '%s', whose other outputs are needed, too",
                         graph->values[given].name, node->name)
               : RYND_OK;
}

static rynd_status remove_others(ry_graph *graph, unsigned char *mark, ry_error *error)
{
    for (ry_node_id n = (ry_node_id)graph->node_count; n-- > 0;) {
        bool keep;
        const ry_node *node = &graph->nodes[n];
        RY_TRY(look_at(graph, node, mark, &keep, error));
        for (int i = 0; keep && i < node->inputs; i++) {
            if (node->in[i] != RY_NO_VALUE) {
                mark[node->in[i]] |= NEEDED;
            }
        }
        if (!keep) {
            ry_graph_remove_node(graph, n);
        }
    }
    for (size_t i = 0; i < graph->input_count; i++) {
        if (mark[graph->inputs[i]] == NEEDED && !graph->values[graph->inputs[i]].constant) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "the outputs need the model's input '%s', which is not among the inputs",
                           graph->values[graph->inputs[i]].name);
        }
    }
    return RYND_OK;
}

rynd_status ry_graph_keep_part(ry_graph *graph, const ry_value_id *inputs, size_t input_count,
                               const ry_value_id *outputs, size_t output_count, ry_error *error)
{
    unsigned char *mark = RY_TAKE(&graph->arena, unsigned char, graph->value_count);
    if (!mark) {
        return ry_fail_memory(error);
    }
    RY_TRY(mark_inputs(graph, inputs, input_count, mark, error));
    RY_TRY(mark_outputs(graph, outputs, output_count, mark, error));
    RY_TRY(remove_others(graph, mark, error));
    graph->inputs = NULL;
    graph->input_count = graph->input_capacity = 0;
    ry_graph_clear_outputs(graph);
    for (size_t i = 0; i < input_count; i++) {
        graph->values[inputs[i]].producer = RY_NO_NODE;
        if (!ry_graph_add_input(graph, inputs[i])) {
            return ry_fail_memory(error);
        }
    }
    for (size_t i = 0; i < output_count; i++) {
        if (!ry_graph_add_output(graph, outputs[i])) {
            return ry_fail_memory(error);
        }
    }
    return ry_graph_compact(graph, error);
}
