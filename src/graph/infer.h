/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference: one function an operator, found by table (infer_table.c).
 *
 * A function reads its node's input types, shapes and, for `value` inputs, contents; writes the
 * outputs' dtype and shape; and makes the attributes canonical as far as it can (attrs.inc says
 * what that means). Dims may be symbols: compute with ry_dim_*. It checks what can be checked and
 * fails with a message that names node and value. When a `value` input's content is not known it
 * returns RY_INFER_LATER after giving the outputs what is known (dtype, rank, unknown dims): such a
 * node is planned after the values are there. */
#ifndef RY_GRAPH_INFER_H
#define RY_GRAPH_INFER_H

#include "graph/infer_tools.h"

/* One node. LATER is not a failure. */
ry_infer_result ry_infer_node(ry_graph *graph, ry_node *node, ry_error *error, rynd_status *status);
/* Every node, in order. Declared types of outputs that contradict what is computed are an error,
 * declared shapes a warning. */
rynd_status ry_graph_infer(ry_graph *graph, ry_error *error);

/* Whether a problem from outside (ry_problem_parse) fits together: inference on a graph of this one
 * node must give its outputs. Value inputs have unknown content here: what depends on them is taken
 * from the problem. Kernels rely on it. */
rynd_status ry_problem_check(const ry_problem *problem, const ry_allocator *allocator,
                             ry_error *error);

/* The graph of that one node, which the caller destroys. It is named as its operator; inputs are
 * x0, x1 .., outputs y0 .., absent ones left out. *whole: does the graph say all that the problem
 * says? False if attributes stand in for value inputs: such a graph cannot be planned. */
rynd_status ry_problem_graph(const ry_problem *problem, const ry_allocator *allocator,
                             ry_graph **graph, bool *whole, ry_error *error);

/* Before anything else walks a graph that comes from outside.
 * Structure: every index in range, every value produced once, inputs and outputs named once, every
 * used value has a source, types that the operator allows (as far as types are known yet). The
 * order of nodes is ry_graph_compact's matter. */
rynd_status ry_graph_verify(const ry_graph *graph, ry_error *error);

/* Gives numbers to symbols: input_shapes[i] for each of the graph's inputs (rank -1: not given; a
 * negative dim: not given; NULL: none given), and by name. Given numbers must agree with fixed ones
 * and with each other. A symbol that is an expression ("2*H") follows from its symbols. Then every
 * input's shape is concrete, or the call fails and names the symbol and the options that bind it.
 * Then the shapes that depended on symbols are inferred anew. */
typedef struct ry_dim_binding {
    const char *symbol;
    int64_t size;
} ry_dim_binding;
rynd_status ry_graph_bind(ry_graph *graph, const ry_shape *input_shapes, const ry_dim_binding *dims,
                          size_t dim_count, ry_error *error);
/* "'batch' (dim 0 of input 'x'), 'H' (dim 2 of input 'x')": the open dims of the inputs, each
 * symbol once, for messages. "" when there are none. */
const char *ry_graph_open_dims(const ry_graph *graph, char *buffer, size_t size);

#endif
