/* SPDX-License-Identifier: Apache-2.0 */
/* A graph of outputs and gradients: the backward nodes follow the forward ones. */
#include "train/gradient_graph.h"

#include "graph/emitter.h"
#include "train/differentiate.h"
#include "train/fuse_norm.h"
#include "train/norm_nodes.h"

/* Adds the gradient of each output as an input. */
static rynd_status add_inputs(ry_graph *graph, const ry_gradient_request *request, ry_value_id *dy,
                              ry_error *error)
{
    for (size_t i = 0; i < request->output_count; i++) {
        const ry_value of = graph->values[request->outputs[i]];
        const char *name = ry_arena_format(&graph->arena, RY_GRADIENT_NAME, of.name);
        dy[i] = name ? ry_graph_add_value(graph, name, of.dtype, &of.shape) : RY_NO_VALUE;
        if (dy[i] == RY_NO_VALUE || !ry_graph_add_input(graph, dy[i])) {
            return ry_fail_memory(error);
        }
    }
    return RYND_OK;
}

/* A gradient under its own name: the value may be another gradient, too, or an input. */
static rynd_status add_output(ry_graph *graph, ry_value_id input, ry_value_id gradient,
                              ry_error *error)
{
    const ry_value of = graph->values[input];
    const char *name = ry_arena_format(&graph->arena, RY_GRADIENT_NAME, of.name);
    ry_emitter e = {.graph = graph, .name = name, .error = error};
    if (!name) {
        return ry_fail_memory(error);
    }
    if (gradient == RY_NO_VALUE) {
        gradient = ry_emit_filled(&e, of.dtype, &of.shape, 0);
    }
    const ry_value_id named = ry_graph_add_value(graph, name, RY_NONE, NULL);
    if (named == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    ry_emit_into(&e, RY_OP_identity, NULL, 1, &gradient, 1, &named);
    RY_TRY(e.status);
    return ry_graph_add_output(graph, named) ? RYND_OK : ry_fail_memory(error);
}

static rynd_status make(ry_graph *graph, const ry_gradient_request *request, ry_arena *scratch,
                        ry_error *error)
{
    ry_value_id *dy = RY_TAKE(scratch, ry_value_id, request->output_count),
                *gradient = RY_TAKE(scratch, ry_value_id, request->input_count);
    if (!dy || !gradient) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_graph_take_apart(graph, error));
    RY_TRY(ry_training_join_batch_norms(graph, error));
    RY_TRY(ry_training_fuse_norms(graph, error));
    const size_t inputs = graph->input_count, outputs = graph->output_count;
    RY_TRY(add_inputs(graph, request, dy, error));
    const ry_differentiation what = {.of_count = request->output_count,
                                     .of = request->outputs,
                                     .dy = dy,
                                     .count = request->input_count,
                                     .wanted = request->inputs,
                                     .gradient = gradient};
    RY_TRY(ry_differentiate(graph, &what, error));
    for (size_t i = 0; i < request->input_count; i++) {
        RY_TRY(add_output(graph, request->inputs[i], gradient[i], error));
    }
    graph->first_inputs = inputs;
    graph->first_outputs = outputs;
    RY_TRY(ry_graph_verify(graph, error));
    RY_TRY(ry_graph_compact(graph, error));
    return ry_graph_infer(graph, error);
}

rynd_status ry_gradient_graph(ry_graph *graph, const ry_gradient_request *request, ry_error *error)
{
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    const rynd_status status = make(graph, request, &scratch, error);
    ry_arena_free(&scratch);
    return status;
}
