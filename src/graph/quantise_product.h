/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution, plain or transposed, or product of quantised data and constant weights, as it is read. */
#ifndef RY_GRAPH_QUANTISE_PRODUCT_H
#define RY_GRAPH_QUANTISE_PRODUCT_H

#include "graph/quantise_inside.h"
#include "graph/quantise_phases.h"

typedef struct ry_quantised_product {
    ry_node_id node;
    bool is_conv, is_transposed;
    ry_phases phases;         /* is_transposed */
    bool integers;            /* an operator of integers, whose bias is in steps of the sums */
    ry_value_id x;            /* bytes, signed or unsigned */
    ry_quantiser x_quantiser; /* scale 1 where there is none */
    ry_value_id w, w_scale, w_zero; /* RY_NO_VALUE: none */
    int axis;         /* dim of w that counts output channels; transposed: those of a group */
    int64_t channels; /* output */
    ry_value_id bias; /* RY_NO_VALUE: none */
    ry_value_id y;
    ry_node_id requantise;    /* integers: the node that quantises the sums; RY_NO_NODE: none */
    ry_quantiser y_quantiser; /* scale and zero point of the requantising node */
} ry_quantised_product;

/* False: the node is none. */
bool ry_read_quantised_product(const ry_quantising *z, ry_node_id id, ry_quantised_product *p);

/* What a vector of one number or one an output channel has for channel k. */
double ry_quantised_number(const ry_graph *graph, ry_value_id id, int64_t k);
float ry_weight_scale(const ry_graph *graph, const ry_quantised_product *p, int64_t k);
int64_t ry_weight_zero(const ry_graph *graph, const ry_quantised_product *p, int64_t k);

#endif
