/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of nodes: what their attributes must hold, and extents where dims are symbols. */
#ifndef RY_GRAPH_INFER_WINDOW_H
#define RY_GRAPH_INFER_WINDOW_H

#include "graph/infer_table.h"
#include "problem/window.h"

/* An empty list becomes `count` times `least`; each number must be `least` to 2^31-1. `name` names
 * it in the message. */
ry_infer_result ry_infer_list(ry_infer *infer, const char *name, ry_ints *list, int count,
                              int64_t least);
/* Checks and completes the lists of the node's attributes, and describes its window; extents and
 * taps may be symbols. */
ry_infer_result ry_infer_window(ry_infer *infer, int rank, const int64_t *in, const int64_t *out,
                                const int64_t *taps, ry_window *window);
/* Gives the node's attributes the window's pads, and once all of its numbers are `known` no
 * auto_pad. */
void ry_infer_store_pads(ry_infer *infer, const ry_window *window, bool known);
/* Positions along axis i, whose pads are made where its numbers are known. */
ry_infer_result ry_infer_positions(ry_infer *infer, ry_window *window, int i, int64_t *out);
/* ry_window_covered. */
int64_t ry_infer_covered(ry_graph *graph, const ry_window_axis *axis);
/* Spatial dims of `out` from those of input 0. */
ry_infer_result ry_infer_window_outs(ry_infer *infer, const int64_t *taps, ry_shape *out);

/* Checks an adaptive pool of images `in`, with so many positions: it has no kernel, strides,
 * dilations, pads and ceil_mode. */
ry_infer_result ry_infer_adaptive(ry_infer *infer, const int64_t *in, const int64_t *out, int rank,
                                  const ry_ints *kernel);

#endif
