/* SPDX-License-Identifier: Apache-2.0 */
/* Recurrent layers as one product of the input for all turns, and one node for the turns. */
#ifndef RY_GRAPH_SPLIT_RECURRENT_H
#define RY_GRAPH_SPLIT_RECURRENT_H

#include "graph/graph.h"

/* Splits node `n`, a recurrent layer that has the input's weights. */
rynd_status ry_graph_split_recurrent(ry_graph *graph, ry_node_id n, ry_error *error);

/* Splits each layer whose state's weights stay in the cache of a core (RY_LIMIT_RECURRENT_STATE):
 * its turns by one kernel on a processor take less time than a product and an expression each. */
rynd_status ry_graph_split_small_recurrent(ry_graph *graph, ry_error *error);

#endif
