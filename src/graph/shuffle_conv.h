/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution of unit stride and the depth_to_space of block r behind it are one transposed
 * convolution of stride r, which moves nothing:
 *
 *     weights: w'[c][k'][r (R - 1 - a) + i] = w[o(k', i)][c][a]     bias: b'[k'][i] = b[o(k',
 *         i)]     in each of both dims
 *
 * of a window of R taps, o(k', i) being the channel that becomes position i of channel k'. Padding
 * p becomes r (R - 1 - p). W. Shi et al., Is the deconvolution layer the same as a convolutional
 * layer?, arXiv:1609.07009. */
#ifndef RY_GRAPH_SHUFFLE_CONV_H
#define RY_GRAPH_SHUFFLE_CONV_H

#include "graph/graph.h"

typedef struct ry_shuffle_conv {
    ry_node_id conv, shuffle;
    ry_attrs attrs; /* the transposed convolution's */
    /* its constants' shapes; rank of bias: 0: no bias, 1: a number a channel, 3: a number a
     * channel and phase */
    ry_shape weights, bias;
} ry_shuffle_conv;

/* Is node `shuffle` a depth_to_space whose input a fitting convolution makes for it alone? */
bool ry_shuffle_conv_of(const ry_graph *graph, ry_node_id shuffle, ry_shuffle_conv *pair);

/* The node that the pair becomes, as far as inference and kernels ask: its constants are still the
 * convolution's. It points into `in`. */
ry_node ry_shuffle_conv_node(const ry_graph *graph, const ry_shuffle_conv *pair, ry_value_id in[3]);

/* Makes it so, if the allowance for constants permits. */
rynd_status ry_shuffle_conv_join(ry_graph *graph, const ry_shuffle_conv *pair, bool *joined,
                                 ry_error *error);

/* For a pair that is not joined: puts the convolution's output channels into the other order of
 * depth_to_space, with what the shuffle makes unchanged, if the allowance permits. */
rynd_status ry_shuffle_conv_reorder(ry_graph *graph, const ry_shuffle_conv *pair, bool crd,
                                    ry_error *error);

#endif
