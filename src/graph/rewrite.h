/* SPDX-License-Identifier: Apache-2.0 */
/* Rewrites of a bound graph (every shape known, constants folded, nodes sorted): each in a file of
 * its own, rewrite_<name>.c, listed once, run in order until none changes anything. A rewrite keeps
 * the graph's inputs and outputs, their names and their values up to rounding, and gives dtype and
 * shape to the values that it makes. Nodes that it makes of constants are folded afterwards. */
#ifndef RY_GRAPH_REWRITE_H
#define RY_GRAPH_REWRITE_H

#include "graph/graph.h"

/* The epilogue comes before pointwise nodes join each other (an addition joined to its activation
 * would fit no epilogue); activations spelled in small nodes are recognised after they joined, and
 * reach the epilogue in the next round. */
#define RY_REWRITES(X)                                                                         \
    X(identity, "drop nodes that change nothing")                                              \
    X(recurrent, "recurrent layers into a product for all turns, and one a turn")              \
    X(einsum, "Einstein summations into transposes, products and sums")                        \
    X(vector_product, "a vector times a matrix in float64 or integers into a sum of products") \
    X(data_gradient, "a convolution's data gradient into a transposed convolution")            \
    X(strided_window, "windows that are far apart into windows over blocks")                   \
    X(half, "values of 16 bits between products into float32")                                 \
    X(norms, "normalisations of float64 into expressions; Hardmax into ArgMax and OneHot")     \
    X(norm_grad, "gradients of softmax and normalisations into expressions")                   \
    X(training, "training steps and pools of types that no kernel computes")                   \
    X(deform_conv, "a deformable convolution into its columns and a 1x1 convolution")          \
    X(layer_norm, "layer normalisation spelled in small nodes")                                \
    X(pixel_shuffle, "Reshape-Transpose-Reshape into depth_to_space; activations before it")   \
    X(space_to_depth, "slices of every s-th pixel, joined, into the convolution behind")       \
    X(pad_window, "zero padding into the convolution or average pooling behind it")            \
    X(scale_conv, "BatchNormalization, scale and bias into convolution and matmul weights")    \
    X(matmul_norm, "BatchNormalization of a matmul's columns into its weights and a row")      \
    X(epilogue, "residual add and activation into the convolution or matmul before them")      \
    X(batch_norm, "other BatchNormalization into a multiply-add")                              \
    X(expr_chain, "pointwise nodes into the pointwise node behind them")                       \
    X(activation, "HardSwish, GELU, SiLU ... spelled in small nodes")                          \
    X(byte_program, "one-element constants into the program of one tensor of bytes")

#define RY_REWRITE(name, what) \
    rynd_status ry_rewrite_##name(ry_graph *graph, bool *changed, ry_error *error);
RY_REWRITES(RY_REWRITE)
#undef RY_REWRITE

/* *changed (NULL: nobody asks): did a rewrite apply? */
rynd_status ry_graph_rewrite(ry_graph *graph, bool *changed, ry_error *error);

/* For the rewrites. */
/* NULL: an input, a constant or absent */
ry_node *ry_rewrite_producer(const ry_graph *graph, ry_value_id value);
/* The node that makes `value`, if it is an `op` and nobody else uses the value. */
ry_node *ry_rewrite_inner(const ry_graph *graph, ry_value_id value, ry_op op);
bool ry_rewrite_is_expr(const ry_node *node, const struct ry_expr *program);
/* Room for `count` inputs; new ones are absent. False when out of memory. */
bool ry_rewrite_widen(ry_graph *graph, ry_node *node, int count);
/* Is the node a pointwise expression of one tensor of bytes, and of numbers, that gives bytes? */
bool ry_rewrite_is_table(const ry_graph *graph, const ry_node *node, ry_value_id *tensor);
/* Is an expression still one of `tensor` alone after its input `input` became a table of it? */
bool ry_rewrite_stays_table(const ry_graph *graph, const ry_node *outer, int input,
                            ry_value_id tensor);
/* The nodes from `first` on, which give `result`, replace a node: it becomes a view of the result
 * in the shape of its output 0, and they get its source. */
void ry_rewrite_replace(ry_graph *graph, ry_node_id node, ry_node_id first, ry_value_id result);

#endif
