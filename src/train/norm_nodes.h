/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisations by the statistics of their own batch, as one node with one gradient. */
#ifndef RY_TRAIN_NORM_NODES_H
#define RY_TRAIN_NORM_NODES_H

#include "graph/graph.h"

/* Makes a batch_norm node compute the statistics of its batch; `next` receives the running ones,
 * moved to the batch's by `momentum`. Inputs 3 and 4 are the running ones. The graph is bound. */
rynd_status ry_training_use_batch(ry_graph *graph, ry_node_id node, double momentum,
                                  const ry_value_id next[2], ry_error *error);

/* Does so for each node that the model has in training mode, in float32. Other readers of the
 * batch's statistics read the node's. */
rynd_status ry_training_join_batch_norms(ry_graph *graph, ry_error *error);

#endif
