/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of quantising share. */
#ifndef RY_GRAPH_QUANTISE_INSIDE_H
#define RY_GRAPH_QUANTISE_INSIDE_H

#include "graph/emitter.h"
#include "graph/quantise_match.h"

typedef struct ry_quantising {
    ry_graph *graph;
    ry_error *error;
    ry_quantise_programs programs;
    size_t values;            /* number of the given graph's values: sizes of the arrays */
    ry_node_id *reader;       /* a node that reads the value */
    ry_value_id *as_unsigned; /* the uint8 copy of an int8 value, or RY_NO_VALUE */
} ry_quantising;

/* How a sum of floats ends: perhaps bounded, then quantised, each value read by the next node
 * alone. */
typedef struct ry_quantised_end {
    ry_node_id node[3]; /* to be removed */
    int nodes;
    ry_value_id out; /* the quantised value */
    ry_quantiser q;
    int64_t low, high; /* bounds of the unsigned bytes */
} ry_quantised_end;

/* False: `value` does not end so. */
rynd_status ry_find_quantised_end(const ry_quantising *z, ry_value_id value, ry_quantised_end *end,
                                  bool *found);

/* The value of unsigned bytes for a quantised one; RY_NO_VALUE: memory is out. */
ry_value_id ry_unsigned_of(ry_quantising *z, ry_value_id value);

/* The same, but RY_NO_VALUE if no node makes the copy yet. */
ry_value_id ry_known_unsigned(const ry_quantising *z, ry_value_id value);

/* Removes the end's nodes, and gives the value of unsigned bytes that takes their place: `end.out`
 * itself, or one that it is made from by a new node. RY_NO_VALUE: memory is out. */
ry_value_id ry_take_end(ry_quantising *z, const ry_quantised_end *end);

/* The one node that reads `value`; NULL: others do, or the graph's outputs. */
ry_node *ry_sole_reader(const ry_quantising *z, ry_value_id value);

/* Each makes a quantised node of the graph's node, if it is one. */
rynd_status ry_quantise_product(ry_quantising *z, ry_node_id id);
rynd_status ry_quantise_addition(ry_quantising *z, ry_node_id id);
rynd_status ry_quantise_move(ry_quantising *z, ry_node_id id);
rynd_status ry_quantise_resize(ry_quantising *z, ry_node_id id);

rynd_status ry_quantise_average(ry_quantising *z, ry_node_id id);

/* Drops a QuantizeLinear of what DequantizeLinear made by the same numbers. */
rynd_status ry_quantise_again(ry_quantising *z, ry_node_id id);

/* Moves QuantizeLinear before a concatenation. */
rynd_status ry_quantise_concat(ry_quantising *z, ry_node_id id);

/* Gives each expression that reads dequantised data a DequantizeLinear of its own, so that it can
 * read the bytes. */
rynd_status ry_quantise_share(ry_quantising *z, ry_node_id id);

#endif
