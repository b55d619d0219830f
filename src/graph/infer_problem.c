/* SPDX-License-Identifier: Apache-2.0 */
/* The graph of one problem, which checks problems that did not come from a graph. */
#include "graph/infer.h"
#include "graph/infer_table.h"

#include <stdio.h>

static bool add_tensors(ry_graph *graph, char side, const ry_tensor *tensors, int count,
                        ry_value_id *ids)
{
    for (int i = 0; i < count; i++) {
        ids[i] = RY_NO_VALUE;
        if (ry_tensor_present(&tensors[i])) {
            char name[16];
            snprintf(name, sizeof name, "%c%d", side, i);
            ry_shape shape = ry_tensor_shape(&tensors[i]);
            ids[i] = ry_graph_add_value(graph, name, (ry_dtype)tensors[i].dtype, &shape);
            if (ids[i] == RY_NO_VALUE) {
                return false;
            }
        }
    }
    return true;
}

/* Canonical attributes stand in for value inputs, which a problem need not have: absent ones at the
 * end become one of unknown content. *added: is there one? */
static bool emulated(ry_graph *graph, const ry_problem *problem, ry_value_id *in, bool *added)
{
    ry_shape list = {.rank = 1, .dim = {ry_dim_unknown(graph)}};
    for (int i = 0; i < ry_infer_rows[problem->op].min_inputs; i++) {
        if (i > 0 && (i >= problem->inputs || in[i] == RY_NO_VALUE)) {
            in[i] = ry_graph_add_value(graph, NULL, RY_i64, &list);
            *added = true;
            if (in[i] == RY_NO_VALUE) {
                return false;
            }
        }
    }
    return true;
}

static rynd_status compare(const ry_graph *graph, const ry_problem *problem, const ry_value_id *out,
                           ry_error *error)
{
    for (int i = 0; i < problem->outputs; i++) {
        if (out[i] == RY_NO_VALUE) {
            continue;
        }
        const ry_value *value = &graph->values[out[i]];
        const ry_tensor *tensor = &problem->out[i];
        bool fits = value->dtype == (ry_dtype)tensor->dtype &&
                    (value->shape.rank < 0 || value->shape.rank == tensor->rank);
        for (int d = 0; fits && d < value->shape.rank; d++) {
            fits = ry_infer_agree(value->shape.dim[d], tensor->dim[d]);
        }
        if (!fits) {
            char is[200], wanted[200];
            ry_shape shape = ry_tensor_shape(tensor);
            return ry_fail(error, RYND_ERROR_SHAPE,
                           "problem %s: y%d is %s %s, but its inputs and attributes give %s %s",
                           ry_op_name(problem->op), i, ry_dtype_name((ry_dtype)tensor->dtype),
                           ry_shape_text(graph, &shape, is, sizeof is), ry_dtype_name(value->dtype),
                           ry_shape_text(graph, &value->shape, wanted, sizeof wanted));
        }
    }
    return RYND_OK;
}

/* Lists the present inputs and outputs as the graph's. */
static bool list_ends(ry_graph *graph, const ry_problem *problem, const ry_value_id *in,
                      const ry_value_id *out)
{
    bool listed = true;
    for (int i = 0; listed && i < problem->inputs; i++) {
        listed = in[i] == RY_NO_VALUE || ry_graph_add_input(graph, in[i]);
    }
    for (int i = 0; listed && i < problem->outputs; i++) {
        listed = out[i] == RY_NO_VALUE || ry_graph_add_output(graph, out[i]);
    }
    return listed;
}

static rynd_status fill(ry_graph *graph, const ry_problem *problem, bool *whole, ry_error *error)
{
    int least = ry_infer_rows[problem->op].min_inputs,
        inputs = problem->inputs > least ? problem->inputs : least;
    ry_value_id *in = RY_TAKE(&graph->arena, ry_value_id, inputs),
                *out = RY_TAKE(&graph->arena, ry_value_id, problem->outputs);
    bool added = false;
    if (!in || !out || !add_tensors(graph, 'x', problem->in, problem->inputs, in) ||
        !emulated(graph, problem, in, &added) ||
        !add_tensors(graph, 'y', problem->out, problem->outputs, out) ||
        !list_ends(graph, problem, in, out)) {
        return ry_fail_memory(error);
    }
    const char *name = ry_op_name(problem->op);
    ry_node_id id = ry_graph_add_node(graph, problem->op, name, name, &problem->attrs, inputs, in,
                                      problem->outputs, out);
    if (id == RY_NO_NODE) {
        return ry_fail_memory(error);
    }
    rynd_status status;
    *whole = ry_infer_node(graph, &graph->nodes[id], error, &status) != RY_INFER_LATER && !added;
    return status == RYND_OK ? compare(graph, problem, out, error) : status;
}

rynd_status ry_problem_graph(const ry_problem *problem, const ry_allocator *allocator,
                             ry_graph **graph, bool *whole, ry_error *error)
{
    RY_TRY(ry_graph_create(allocator, graph, error));
    const rynd_status status = fill(*graph, problem, whole, error);
    if (status != RYND_OK) {
        ry_graph_destroy(*graph);
        *graph = NULL;
    }
    return status;
}

rynd_status ry_problem_check(const ry_problem *problem, const ry_allocator *allocator,
                             ry_error *error)
{
    ry_graph *graph;
    bool whole;
    RY_TRY(ry_problem_graph(problem, allocator, &graph, &whole, error));
    ry_graph_destroy(graph);
    return RYND_OK;
}
