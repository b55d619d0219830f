/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites of a bound graph (every shape known, constants folded, nodes sorted): each in a file of its own, rewrite_<name>.c, listed once, run in order until
 * none changes anything. A rewrite keeps the graph's inputs and outputs, their names and their values up to rounding, and gives dtype and shape to
 * the values that it makes. Nodes that it makes of constants are folded afterwards. */
#ifndef RY_GRAPH_REWRITE_H
#define RY_GRAPH_REWRITE_H

#include "graph/graph.h"

#define RY_REWRITES(X)

#define RY_REWRITE(name, what) rynd_status ry_rewrite_##name(ry_graph *graph, bool *changed, ry_error *error);
RY_REWRITES(RY_REWRITE)
#undef RY_REWRITE

rynd_status ry_graph_rewrite(ry_graph *graph, ry_error *error);

#endif
