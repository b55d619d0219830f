/* SPDX-License-Identifier: Apache-2.0 */
/* Which values of a graph have channels: those alone may be stored channels last. */
#ifndef RY_PLAN_CHANNELS_H
#define RY_PLAN_CHANNELS_H

#include "graph/graph.h"

/* channels[v], one for each value of the graph: is dim 1 of it the channels of pixels? It is where
 * a spatial operator (a convolution, pooling, a resize, ...) reads or writes it, and where
 * operators that keep each dim in its place (elementwise ones, concat, slice, softmax, ...) join it
 * with such a value. The scores of attention, the rows of a matrix product and what a transpose
 * makes have none. Fails when memory is out. */
rynd_status ry_plan_find_channels(const ry_graph *graph, ry_arena *arena, bool **channels,
                                  ry_error *error);

#endif
