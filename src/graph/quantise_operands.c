/* SPDX-License-Identifier: Apache-2.0 */
/* Reads convolutions and products of quantised data and weights: in floats between DequantizeLinear
 * and QuantizeLinear, and in integers as QLinearConv, ConvInteger and their kin are imported. */
#include "graph/quantise_product.h"
#include "graph/rewrite.h"

double ry_quantised_number(const ry_graph *graph, ry_value_id id, int64_t k)
{
    return ry_quantise_number(graph, id, k % ry_shape_elements(&graph->values[id].shape));
}

/* Is it a constant of one number, or of one for each place of dim `axis` of a tensor of `rank`? */
static bool is_along(const ry_graph *graph, ry_value_id id, int axis, int rank, int64_t channels)
{
    const ry_value *value = &graph->values[id];
    const int64_t elements = ry_shape_elements(&value->shape);
    const int at = value->shape.rank - (rank - axis);
    return value->constant &&
           (elements == 1 || (elements == channels && at >= 0 && value->shape.dim[at] == channels));
}

/* Output channels that the weights tell apart. */
static int64_t weight_channels(const ry_graph *graph, const ry_quantised_product *p)
{
    return graph->values[p->w].shape.dim[p->axis];
}

float ry_weight_scale(const ry_graph *graph, const ry_quantised_product *p, int64_t k)
{
    return p->w_scale == RY_NO_VALUE ? 1 : (float)ry_quantised_number(graph, p->w_scale, k);
}

int64_t ry_weight_zero(const ry_graph *graph, const ry_quantised_product *p, int64_t k)
{
    return p->w_zero == RY_NO_VALUE ? 0 : (int64_t)ry_quantised_number(graph, p->w_zero, k);
}

/* Are the weights constant bytes with scales and zero points for the output channels? */
static bool has_weights(const ry_graph *graph, const ry_quantised_product *p)
{
    const ry_value *w = &graph->values[p->w];
    const int rank = w->shape.rank;
    if (!w->constant || !ry_is_byte(w->dtype) ||
        (p->w_zero != RY_NO_VALUE &&
         !is_along(graph, p->w_zero, p->axis, rank, weight_channels(graph, p)))) {
        return false;
    }
    for (int64_t k = 0; k < p->channels; k++) {
        const float scale = ry_weight_scale(graph, p, k) * p->x_quantiser.scale;
        if (!(scale > 0) || !isfinite(scale)) {
            return false;
        }
    }
    return true;
}

/* Convolutions have output channels in dim 0 of their weights. */
static bool read_conv(const ry_graph *graph, const ry_node *node, ry_quantised_product *p)
{
    p->is_conv = true;
    p->axis = 0;
    p->channels = graph->values[p->w].shape.dim[0];
    return node->attrs.conv.dir == RY_direction_fwd &&
           node->attrs.conv.auto_pad == RY_auto_pad_explicit &&
           node->attrs.conv.activation == RY_activation_none;
}

/* Transposed convolutions have output channels of a group in dim 1 of their weights. */
static bool read_transposed(const ry_graph *graph, const ry_node *node, ry_quantised_product *p)
{
    p->is_transposed = true;
    p->axis = 1;
    p->channels = graph->values[p->w].shape.dim[1] * node->attrs.convt.groups;
    return ry_phases_of(graph, node, &p->phases);
}

/* Rows of a matrix by a matrix of constants, and perhaps a row: what a fully connected layer is. */
static bool read_matmul(const ry_graph *graph, const ry_node *node, ry_quantised_product *p)
{
    const ry_matmul_attrs *a = &node->attrs.matmul;
    const ry_shape *w = &graph->values[p->w].shape;
    p->axis = a->trans_b ? 0 : 1;
    p->channels = w->rank == 2 ? w->dim[p->axis] : 0;
    return w->rank == 2 && graph->values[node->in[0]].shape.rank >= 2 && !a->trans_a &&
           a->alpha == 1 && (p->bias == RY_NO_VALUE || a->beta == 1) &&
           a->activation == RY_activation_none;
}

/* What both forms share, once x and the weights are known. */
static bool read_operator(const ry_graph *graph, const ry_node *node, ry_quantised_product *p)
{
    p->bias = node->inputs > 2 ? node->in[2] : RY_NO_VALUE;
    p->y = node->out[0];
    return node->outputs == 1 && (node->inputs < 4 || node->in[3] == RY_NO_VALUE) &&
           !graph->values[p->x].constant &&
           (node->op == RY_OP_conv    ? read_conv(graph, node, p)
            : node->op == RY_OP_convt ? read_transposed(graph, node, p)
                                      : read_matmul(graph, node, p));
}

static bool read_floats(const ry_quantising *z, const ry_node *node, ry_quantised_product *p)
{
    const ry_graph *graph = z->graph;
    const ry_node *x = ry_find_dequantise(graph, &z->programs, node->in[0], &p->x_quantiser),
                  *w = ry_rewrite_producer(graph, node->in[1]);
    if (!x || !ry_is_dequantise(&z->programs, w) || graph->values[w->in[1]].dtype != RY_f32) {
        return false;
    }
    p->x = x->in[0];
    p->w = w->in[0];
    p->w_scale = w->in[1];
    p->w_zero = w->inputs > 2 ? w->in[2] : RY_NO_VALUE;
    return read_operator(graph, node, p) &&
           is_along(graph, p->w_scale, p->axis, graph->values[p->w].shape.rank,
                    weight_channels(graph, p)) &&
           has_weights(graph, p);
}

/* Scales of the node that quantises the sum. */
static bool read_requantise(const ry_quantising *z, const ry_node *node, ry_quantised_product *p)
{
    const ry_graph *graph = z->graph;
    ry_quantiser *y = &p->y_quantiser;
    if (!ry_is_requantise(&z->programs, graph, node)) {
        return false;
    }
    const int rank = graph->values[node->out[0]].shape.rank,
              axis = p->is_conv || p->is_transposed ? 1 : rank - 1;
    p->w_scale = node->in[2];
    return is_along(graph, node->in[1], 0, 1, 1) &&
           is_along(graph, p->w_scale, axis, rank, p->channels) &&
           graph->values[node->in[1]].dtype == RY_f32 &&
           graph->values[node->in[2]].dtype == RY_f32 &&
           ry_read_quantiser(graph, node->in[3], node->in[4], graph->values[node->out[0]].dtype, y);
}

static bool read_integers(const ry_quantising *z, const ry_node *node, ry_quantised_product *p)
{
    const ry_graph *graph = z->graph;
    const ry_node *x = ry_rewrite_producer(graph, node->in[0]),
                  *w = ry_rewrite_producer(graph, node->in[1]);
    if (!ry_is_centring(&z->programs, x) || !ry_is_centring(&z->programs, w) ||
        !ry_read_zero(graph, x->inputs > 1 ? x->in[1] : RY_NO_VALUE, graph->values[x->in[0]].dtype,
                      &p->x_quantiser.zero)) {
        return false;
    }
    p->x_quantiser.scale = 1;
    p->x = x->in[0];
    p->w = w->in[0];
    p->w_scale = RY_NO_VALUE;
    p->w_zero = w->inputs > 1 ? w->in[1] : RY_NO_VALUE;
    p->integers = true;
    if (!read_operator(graph, node, p) || graph->values[p->y].dtype != RY_i32 ||
        (p->bias != RY_NO_VALUE && !graph->values[p->bias].constant)) {
        return false;
    }
    const ry_node *reader = ry_sole_reader(z, p->y);
    p->requantise =
        read_requantise(z, reader, p) ? (ry_node_id)(reader - graph->nodes) : RY_NO_NODE;
    if (p->requantise == RY_NO_NODE) {
        p->w_scale = RY_NO_VALUE;
    } else {
        p->x_quantiser.scale = (float)ry_quantise_number(graph, reader->in[1], 0);
    }
    return has_weights(graph, p);
}

bool ry_read_quantised_product(const ry_quantising *z, ry_node_id id, ry_quantised_product *p)
{
    const ry_node *node = &z->graph->nodes[id];
    *p = (ry_quantised_product){.node = id, .requantise = RY_NO_NODE};
    return read_floats(z, node, p) || read_integers(z, node, p);
}
