/* SPDX-License-Identifier: Apache-2.0 */
/* Shape inference and constant folding in one pass over a bound graph: a folded value may decide
 * the next node's shape. */
#ifndef RY_PLAN_FOLD_H
#define RY_PLAN_FOLD_H

#include "graph/graph.h"
#include "kernels/kernel.h"
#include "plan/value_layouts.h"

/* Sorts the graph, infers every node, and turns nodes of constants into constants. later[i] (room
 * for node_count) says that node i must wait for values: its shape depends on data, or an input
 * comes from such a node. */
rynd_status ry_plan_fold(ry_graph *graph, const ry_target *target, bool **later, ry_error *error);

/* The same without the weights that ry_graph_quantise reads (*held: there are some). */
rynd_status ry_plan_fold_quantised(ry_graph *graph, const ry_target *target, bool **later,
                                   bool *held, ry_error *error);

/* The problem of a node whose shapes are known; descriptions in `arena`. layouts NULL: all
 * values are row-major. images: the first dim of all that is no constant, where not 0. */
rynd_status ry_plan_problem(const ry_graph *graph, const ry_node *node, ry_accuracy accuracy,
                            const ry_value_layouts *layouts, int64_t images, ry_arena *arena,
                            ry_problem *problem, ry_error *error);

/* Bit i: input i is a constant. Inputs beyond 31 count as not constant. */
unsigned ry_plan_constants(const ry_graph *graph, const ry_node *node);

/* Puts the node in front of a message that says that memory is out: others name it. Gives the
 * status back. */
rynd_status ry_plan_fail_node(rynd_status status, const ry_node *node, ry_error *error);

/* No kernel for a problem: says which node and which types. */
rynd_status ry_plan_fail_kernel(const ry_node *node, const ry_problem *problem, ry_error *error);

#endif
