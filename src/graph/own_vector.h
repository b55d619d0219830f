/* SPDX-License-Identifier: Apache-2.0 */
/* Names of the vectors that training gives to a normalisation which shares one with somebody, so
 * that both go their own ways: "<vector>/<output>/scale", "bias", "mean", "variance". Whoever
 * writes the model knows them by that. */
#ifndef RY_GRAPH_OWN_VECTOR_H
#define RY_GRAPH_OWN_VECTOR_H

#include "graph/graph.h"

bool ry_is_norm(ry_op op); /* batch, group or layer */

/* Input 1 to 4 of a normalisation, as inference reads it: the running mean and variance in place of
 * the batch's. */
ry_value_id ry_norm_vector(const ry_node *node, int input);

/* The name of input 1 to 4 of a normalisation; NULL when out of memory. */
const char *ry_own_vector_name(const ry_graph *graph, const ry_node *node, int input,
                               ry_arena *arena);
/* Finds the normalisation and input with this name; false: not found. */
bool ry_own_vector_find(const ry_graph *graph, const char *name, ry_node_id *node, int *input);

#endif
