/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a graph between values, and the places where a graph may be cut. */
#ifndef RY_GRAPH_GRAPH_PART_H
#define RY_GRAPH_GRAPH_PART_H

#include "graph/graph.h"

/* Leaves in a sorted graph (ry_graph_compact) what computes `outputs` from `inputs`, which become
 * its outputs and inputs in this order. Fails with ARGUMENT: an input is a constant or given twice,
 * an output is not computed, or needs an input of the graph that is not among the inputs. */
rynd_status ry_graph_keep_part(ry_graph *graph, const ry_value_id *inputs, size_t input_count,
                               const ry_value_id *outputs, size_t output_count, ry_error *error);

/* A list of values in an arena. */
typedef struct ry_value_list {
    ry_value_id *items;
    size_t count;
} ry_value_list;

/* The last node of a sorted graph that reads each value; RY_NO_NODE: none. The graph's outputs are
 * read by a node behind the last. */
typedef struct ry_lifetimes {
    const ry_graph *graph;
    ry_node_id *last_read;
} ry_lifetimes;

bool ry_graph_lifetimes(const ry_graph *graph, ry_arena *arena, ry_lifetimes *lifetimes);
/* Bytes that cross a cut in front of a node: of values that are made, or given, before it, and are
 * read from there on. Constants do not. */
double ry_graph_crossing(const ry_lifetimes *lifetimes, ry_node_id node);
/* Lists the values that nodes `first` to before `end` read from outside, graph inputs included, and
 * their values that other nodes or the graph's outputs read. False: out of memory. */
bool ry_graph_boundary(const ry_lifetimes *lifetimes, ry_node_id first, ry_node_id end,
                       ry_arena *arena, ry_value_list *inputs, ry_value_list *outputs);

/* Chooses at most `most - 1` places to cut a sorted graph of known shapes: where few bytes cross
 * for the work on either side, and not in front of what is fused into the node before it.
 * cuts[0..*count): first nodes of the parts behind, in order. */
rynd_status ry_graph_choose_cuts(const ry_graph *graph, size_t most, ry_arena *arena,
                                 ry_node_id *cuts, size_t *count, ry_error *error);

#endif
