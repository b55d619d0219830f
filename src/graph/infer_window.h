/* SPDX-License-Identifier: Apache-2.0 */
/* A window that slides along the spatial dims of input 0: what its attributes must hold, and how many of its positions there are. */
#ifndef RY_GRAPH_INFER_WINDOW_H
#define RY_GRAPH_INFER_WINDOW_H

#include "graph/infer_table.h"

/* The lists of one window operator; each pointer is into the node's attributes, NULL where the operator has none. */
typedef struct ry_window {
    int spatial;
    ry_ints *stride, *dilation, *pads;
    ry_auto_pad *auto_pad;
    const int64_t *kernel; /* spatial sizes; symbols are allowed */
    bool ceil_mode;
} ry_window;

/* An empty list becomes `count` times `preset`; each number must be `least` to 2^31-1. `name` names it in the message. */
ry_infer_result ry_infer_list(ry_infer *infer, const char *name, ry_ints *list, int count, int64_t preset, int64_t least);
/* The lists of w, and its kernel. */
ry_infer_result ry_window_check(ry_infer *infer, ry_window *w);
/* Positions that a window covers: (kernel-1)*dilation + 1. */
int64_t ry_window_extent(ry_graph *graph, const ry_window *w, int i);
/* Pads of spatial dim i that add up to `total`; SAME_UPPER has the larger one at the end. */
void ry_window_set_same_pads(const ry_window *w, int i, int64_t total);
/* Windows along a dim of numbers, each of which covers so many positions; negative when not even one fits. */
int64_t ry_window_count(const ry_window *w, int i, int64_t in, int64_t covered);
/* Windows along spatial dim i of size `in`; either may be a symbol. */
ry_infer_result ry_window_out(ry_infer *infer, const ry_window *w, int i, int64_t in, int64_t *out);
/* Spatial dims of `out` from those of input 0; w is checked, and auto_pad becomes explicit once every number is known. */
ry_infer_result ry_window_outs(ry_infer *infer, ry_window *w, ry_shape *out);

#endif
