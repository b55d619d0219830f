/* SPDX-License-Identifier: Apache-2.0 */
/* Before differentiation: what follows a batch normalisation in training point by point moves into
 * it, so that forward and backward are one node each. */
#ifndef RY_TRAIN_FUSE_NORM_H
#define RY_TRAIN_FUSE_NORM_H

#include "graph/graph.h"

/* First a residual addition, then an activation that the gradient finds again in y (relu, clip).
 * The graph is sorted and inferred, before and after. */
rynd_status ry_training_fuse_norms(ry_graph *graph, ry_error *error);

#endif
