/* SPDX-License-Identifier: Apache-2.0 */
/* Adds gradients to a model's graph. */
#ifndef RY_TRAIN_GRADIENT_GRAPH_H
#define RY_TRAIN_GRADIENT_GRAPH_H

#include "graph/graph.h"

typedef struct ry_gradient_request {
    size_t input_count, output_count;
    const ry_value_id *inputs;  /* whose gradients are outputs: inputs of the graph */
    const ry_value_id *outputs; /* whose gradients are inputs: outputs of the graph */
} ry_gradient_request;

/* Names of the gradients: "gradient/NAME". */
#define RY_GRADIENT_NAME "gradient/%s"

/* The graph is bound, sorted, inferred and folded. Its first outputs are the old ones
 * (ry_graph.first_outputs), then come the gradients of the inputs, zeros where none leads to one.
 * The gradients of the outputs follow the old inputs. Fails as ry_differentiate does. */
rynd_status ry_gradient_graph(ry_graph *graph, const ry_gradient_request *request, ry_error *error);

#endif
