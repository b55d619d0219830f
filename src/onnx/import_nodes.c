/* SPDX-License-Identifier: Apache-2.0 */
/* Imports a list of nodes: finds each one's row in the table of operators, checks it, and runs the row. */
#include "onnx/operators.h"

#include "graph/infer.h"

#include <string.h>

static void check_counts(ry_import *import)
{
    const ry_operator *row = import->row;
    const ry_node_record *node = import->node;
    if (node->inputs < row->min_inputs || node->inputs > row->max_inputs) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "it has %d inputs; %s of opset %d takes %s%d",
                       node->inputs, node->op, (int)node->opset,
                       row->max_inputs > row->min_inputs ? "at least " : "", row->min_inputs);
    }
    if (node->outputs < row->min_outputs || node->outputs > row->max_outputs) {
        ry_import_fail(import, RYND_ERROR_FORMAT, "it has %d outputs; %s of opset %d gives %s%d",
                       node->outputs, node->op, (int)node->opset,
                       row->max_outputs > row->min_outputs ? "at least " : "", row->min_outputs);
    }
    /* An input list of any length needs each of its inputs. */
    const int needed = row->max_inputs == RY_ANY_COUNT       ? node->inputs
                       : row->max_inputs == RY_ANY_COUNT - 1 ? 0
                                                             : row->min_inputs;
    for (int i = 0; i < needed; i++) {
        if (import->status == RYND_OK && import->in[i] == RY_NO_VALUE &&
            !(row->op == RY_OP_resize && i)) {
            ry_import_fail(import, RYND_ERROR_FORMAT, "its input %d is absent", i);
        }
    }
}

static void check_type(ry_import *import)
{
    ry_value_id x = ry_import_in(import, 0);
    ry_dtype dtype = ry_import_dtype(import, x);
    if (dtype != RY_NONE && !(import->row->types >> dtype & 1)) {
        ry_import_fail(import, RYND_ERROR_SHAPE,
                       "its input '%s' has type %s, which %s does not take",
                       import->graph->values[x].name, ry_dtype_name(dtype), import->node->op);
    }
}

static rynd_status run_row(ry_import *import)
{
    check_counts(import);
    check_type(import);
    if (import->status == RYND_OK) {
        import->status = ry_import_check_attributes(import);
    }
    if (import->status == RYND_OK) {
        import->row->run(import);
    }
    return import->status;
}

static rynd_status import_record(ry_reader *reader, ry_graph *graph, const ry_node_record *node)
{
    const ry_operator *nearest;
    ry_import import = {.reader = reader,
                        .graph = graph,
                        .node = node,
                        .run_nodes = ry_import_nodes,
                        .status = RYND_OK};
    ry_value_id *in = RY_TAKE(reader->source.arena, ry_value_id, node->inputs);
    if (!in) {
        return ry_fail_memory(reader->error);
    }
    for (int i = 0; i < node->inputs; i++) {
        in[i] = *node->in[i] ? ry_graph_find(graph, node->in[i]) : RY_NO_VALUE;
        if (*node->in[i] && in[i] == RY_NO_VALUE) {
            return ry_fail(reader->error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): its input '%s' was never made", node->name, node->op,
                           node->in[i]);
        }
    }
    import.in = in;
    import.row = ry_operator_find(node->op, node->domain, node->opset, &nearest);
    const rynd_status status = run_row(&import);
    if (status == RYND_ERROR_OUT_OF_MEMORY) { /* other errors name the node already */
        ry_error_prefix(reader->error, "node '%s' (%s): ", node->name, node->op);
    }
    return status;
}

rynd_status ry_import_nodes(ry_reader *reader, ry_graph *graph, ry_node_list *nodes,
                            const ry_names *known)
{
    RY_TRY(ry_operators_check(reader, nodes));
    RY_TRY(ry_nodes_sort(reader, nodes, known));
    for (size_t i = 0; i < nodes->count; i++) {
        RY_TRY(import_record(reader, graph, &nodes->at[nodes->order[i]]));
    }
    return RYND_OK;
}
