/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the weights that training leaves alone. */
#ifndef RY_TRAIN_FROZEN_H
#define RY_TRAIN_FROZEN_H

#include "train/training.h"

/* Is it an initializer that training may change: floating-point, and not one number alone? */
bool ry_training_is_weight(const ry_graph *graph, ry_value_id value);

/* *frozen: for each value of the graph, in `scratch`. A pattern names a weight, or a node that
 * reads it and whose name is a path, with or without the '/' that PyTorch puts first. The graph is
 * sorted, and all of it leads to the output. Fails with NOT_FOUND where a pattern matches nothing,
 * and ARGUMENT where there are fewer layers than train_last. */
rynd_status ry_training_find_frozen(const ry_graph *graph, const ry_training_options *options,
                                    ry_arena *scratch, bool **frozen, ry_error *error);

#endif
