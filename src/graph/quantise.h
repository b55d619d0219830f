/* SPDX-License-Identifier: Apache-2.0 */
/* Quantised operators out of what ONNX's quantised models say in floats: DequantizeLinear before
 * and QuantizeLinear behind an operator become one node of integers (qconv).
 *
 * Bytes are unsigned in the nodes made: a value of int8 has a copy of uint8, 128 larger, and so have
 * the nodes between. Where an int8 value is read by others, an expression makes it from the copy. */
#ifndef RY_GRAPH_QUANTISE_H
#define RY_GRAPH_QUANTISE_H

#include "graph/graph.h"

/* Marks the nodes of a sorted graph that dequantise constants for a convolution or product of
 * dequantised data: held[node_count]. They must not be folded before ry_graph_quantise, which needs
 * their integers. *any: some are marked. */
rynd_status ry_graph_hold_weights(ry_graph *graph, bool *held, bool *any, ry_error *error);

/* Makes quantised nodes of a bound graph whose shapes are known and whose constants are folded, all
 * but those of ry_graph_hold_weights. Values keep their names; results differ from those in floats
 * by rounding: sums are exact here, and scales are multiplied before they meet a sum. */
rynd_status ry_graph_quantise(ry_graph *graph, ry_error *error);

#endif
