/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites of a bound graph (every shape known, constants folded): each in a file of its own, listed once, run until none changes anything.
 * A rewrite keeps the graph's inputs and outputs, their names and their values up to rounding. */
#ifndef RY_GRAPH_REWRITE_H
#define RY_GRAPH_REWRITE_H

#include "graph/graph.h"

#define RY_REWRITES(X)                                                                                \
    X(identity, "drop identities and inference-time dropout")                                         \
    X(activation, "recognise HardSwish, GELU, SiLU, hard sigmoid spelled in small operators")          \
    X(layer_norm, "recognise layer normalisation spelled in small operators")                         \
    X(pixel_shuffle, "Reshape-Transpose-Reshape into depth_to_space")                                 \
    X(pad_conv, "zero padding into the convolution or average pool behind it")                                        \
    X(scale_conv, "BatchNormalization, scale and bias into convolution and matmul weights")           \
    X(epilogue, "residual add and activation into the convolution or matmul before them")             \
    X(expr_chain, "pointwise nodes with one use into the pointwise node behind them")

#define RY_REWRITE(name, what) rynd_status ry_rewrite_##name(ry_graph *graph, bool *changed, ry_error *error);
RY_REWRITES(RY_REWRITE)
#undef RY_REWRITE

rynd_status ry_graph_rewrite(ry_graph *graph, ry_error *error);

#endif
