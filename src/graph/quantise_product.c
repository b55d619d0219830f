/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions and products of quantised data and weights into quantised convolutions. */
#include "graph/quantise_product.h"

#include "graph/derive.h"
#include "graph/rewrite.h"

#include <string.h>

/* Elements from an output channel to the next one. */
static int64_t channel_step(const ry_shape *weights, int axis)
{
    int64_t step = 1;
    for (int i = axis + 1; i < weights->rank; i++) {
        step *= weights->dim[i];
    }
    return step;
}

/* Shape of the quantised convolution's weights; a matrix keeps its own. */
static ry_shape weights_shape(const ry_graph *graph, const ry_quantised_product *p)
{
    const ry_shape *shape = &graph->values[p->w].shape;
    return p->is_transposed ? ry_phase_weights(&p->phases, shape) : *shape;
}

/* Output channels of the quantised convolution, and the channel of y that each belongs to. */
static int64_t made_channels(const ry_quantised_product *p)
{
    return p->is_transposed ? p->channels * p->phases.count : p->channels;
}

static int64_t channel_of(const ry_quantised_product *p, int64_t k)
{
    return p->is_transposed ? ry_phase_channel(&p->phases, p->channels, k) : k;
}

/* Do all weights without their zero point fit int8? *plain: they are int8 without any. */
static bool fit_int8(const ry_graph *graph, const ry_quantised_product *p, bool *plain)
{
    const ry_value *w = &graph->values[p->w];
    const int64_t count = ry_shape_elements(&w->shape), step = channel_step(&w->shape, p->axis);
    *plain = w->dtype == RY_i8;
    bool any = false;
    for (int64_t k = 0; k < p->channels; k++) {
        any = any || ry_weight_zero(graph, p, k) != 0;
    }
    *plain = *plain && !any;
    bool fit = true;
    for (int64_t i = 0; i < count && !*plain && fit; i++) {
        const int64_t weight =
            (int64_t)ry_quantise_number(graph, p->w, i) - ry_weight_zero(graph, p, i / step);
        fit = weight >= INT8_MIN && weight <= INT8_MAX;
    }
    return fit;
}

static void fill_weights(ry_graph *graph, const void *how, void *to)
{
    const ry_quantised_product *p = how;
    const ry_shape shape = graph->values[p->w].shape, made = weights_shape(graph, p);
    const int64_t count = ry_shape_elements(&made), step = channel_step(&shape, p->axis);
    for (int64_t i = 0; i < count; i++) {
        const int64_t from = p->is_transposed ? ry_phase_weight(&p->phases, &shape, i) : i;
        ((int8_t *)to)[i] = from < 0 ? 0
                                     : (int8_t)((int64_t)ry_quantise_number(graph, p->w, from) -
                                                ry_weight_zero(graph, p, from / step));
    }
}

/* The weights in int8 without zero point. */
static ry_value_id weights_of(ry_quantising *z, const ry_quantised_product *p, bool plain)
{
    const ry_value_id from[2] = {p->w, p->w_zero};
    const ry_recipe recipe =
        p->is_transposed ? (ry_recipe){"quantised phases", 2, from, &p->phases, sizeof p->phases}
                         : (ry_recipe){"quantised weights", 2, from, &p->axis, sizeof p->axis};
    const ry_shape shape = weights_shape(z->graph, p);
    return plain && !p->is_transposed
               ? from[0]
               : ry_graph_add_derived(z->graph, &recipe, RY_i8, &shape, fill_weights, p);
}

static bool is_vector(const ry_graph *graph, ry_value_id id, int64_t channels)
{
    const ry_value *value = &graph->values[id];
    const int64_t elements = ry_shape_elements(&value->shape);
    return value->constant && (elements == 1 || elements == channels);
}

/* A bias in steps of the sums, if it can be stated so: a constant, dequantised or not. */
static bool bias_step(const ry_graph *graph, const ry_quantise_programs *programs,
                      const ry_quantised_product *p, int64_t k, int64_t *bias)
{
    const ry_node *dequantise = ry_rewrite_producer(graph, p->bias);
    const double sum_scale =
        p->integers ? 1 : (double)(p->x_quantiser.scale * ry_weight_scale(graph, p, k));
    double value;
    if (ry_is_dequantise(programs, dequantise)) {
        for (int i = 0; i < dequantise->inputs; i++) {
            if (!is_vector(graph, dequantise->in[i], p->channels)) {
                return false;
            }
        }
        const double zero =
            dequantise->inputs > 2 ? ry_quantised_number(graph, dequantise->in[2], k) : 0;
        value = (ry_quantised_number(graph, dequantise->in[0], k) - zero) *
                ry_quantised_number(graph, dequantise->in[1], k);
    } else if (is_vector(graph, p->bias, p->channels)) {
        value = ry_quantised_number(graph, p->bias, k);
    } else {
        return false;
    }
    const double steps = rint(value / sum_scale);
    *bias = (int64_t)(fabs(steps) <= INT32_MAX ? steps : 0);
    return fabs(steps) <= INT32_MAX;
}

/* Sets *bias, RY_NO_VALUE for none. False: the bias cannot be stated in steps of the sums. */
static rynd_status make_bias(ry_quantising *z, const ry_quantised_product *p, ry_value_id *bias,
                             bool *made)
{
    *bias = RY_NO_VALUE;
    *made = true;
    if (p->bias == RY_NO_VALUE) {
        return RYND_OK;
    }
    const ry_shape shape = {.rank = 1, .dim = {made_channels(p)}};
    *bias = ry_graph_add_constant(z->graph, NULL, RY_i32, &shape, NULL);
    if (*bias == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    int32_t *to = ry_graph_constant_data(z->graph, *bias);
    for (int64_t k = 0; k < shape.dim[0] && *made; k++) {
        int64_t steps = 0;
        *made = bias_step(z->graph, &z->programs, p, channel_of(p, k), &steps);
        to[k] = (int32_t)steps;
    }
    return RYND_OK;
}

/* From sums to steps of y; y_scale 1: to y in floats. */
static ry_value_id make_scales(ry_quantising *z, const ry_quantised_product *p, float y_scale)
{
    const ry_shape shape = {.rank = 1, .dim = {made_channels(p)}};
    const ry_value_id scales = ry_graph_add_constant(z->graph, NULL, RY_f32, &shape, NULL);
    float *to = scales == RY_NO_VALUE ? NULL : ry_graph_constant_data(z->graph, scales);
    for (int64_t k = 0; to && k < shape.dim[0]; k++) {
        to[k] = p->x_quantiser.scale * ry_weight_scale(z->graph, p, channel_of(p, k)) / y_scale;
    }
    return scales;
}

typedef enum result { BYTES, FLOATS, SUMS } result;

static ry_attrs attrs_of(const ry_graph *graph, const ry_quantised_product *p,
                         const ry_quantised_end *end, result kind)
{
    const ry_node *node = &graph->nodes[p->node];
    ry_attrs attrs = ry_attrs_default(RY_OP_qconv);
    ry_qconv_attrs *a = &attrs.qconv;
    if (p->is_conv) {
        a->stride = node->attrs.conv.stride;
        a->dilation = node->attrs.conv.dilation;
        a->pads = node->attrs.conv.pads;
        a->groups = node->attrs.conv.groups;
    }
    if (p->is_transposed) {
        a->groups = p->phases.groups;
        a->pads.count = 2 * (int)p->phases.rank;
        memcpy(a->pads.at, p->phases.pads, (size_t)a->pads.count * sizeof *a->pads.at);
    }
    a->x_zero = p->x_quantiser.zero;
    a->dequantise = kind == FLOATS;
    if (kind == BYTES) {
        a->zero = end->q.zero;
        a->low = end->low;
        a->high = end->high;
    }
    return attrs;
}

/* Rows as images of one pixel, whose channels are the columns. */
static ry_value_id rows_of(ry_emitter *emitter, ry_value_id x)
{
    const ry_shape shape = ry_emit_shape(emitter, x);
    const int64_t columns = shape.dim[shape.rank - 1];
    const ry_shape rows = {
        .rank = 3, .dim = {columns > 0 ? ry_shape_elements(&shape) / columns : 0, columns, 1}};
    return ry_emit_reshape(emitter, x, &rows);
}

static ry_value_id matrix_of(ry_emitter *emitter, ry_value_id w, int axis)
{
    const ry_ints perm = {2, {1, 0}};
    const ry_value_id rows = axis == 0 ? w : ry_emit_transpose(emitter, w, &perm);
    ry_shape shape = ry_emit_shape(emitter, rows);
    shape.dim[shape.rank++] = 1;
    return ry_emit_reshape(emitter, rows, &shape);
}

/* The model's names of the node that becomes a quantised one. */
typedef struct origin {
    const char *value, *node, *source;
} origin;

/* Plans and profiles call the node that gives `y` what the model calls it. */
static void name_node(const ry_emitter *emitter, ry_value_id y, const origin *from)
{
    if (emitter->status == RYND_OK) {
        ry_node *node = &emitter->graph->nodes[emitter->graph->values[y].producer];
        node->name = from->node;
        node->source = from->source;
    }
}

/* Adds the quantised node, which gives `y`. */
static rynd_status emit(ry_quantising *z, const origin *from, const ry_attrs *attrs,
                        const ry_quantised_product *p, ry_value_id *in, ry_value_id y)
{
    ry_emitter emitter = {z->graph, from->value, z->error, RYND_OK};
    if (p->is_transposed) {
        const ry_value_id blocks = ry_emit(&emitter, RY_OP_qconv, attrs, 5, in);
        name_node(&emitter, blocks, from);
        ry_emit_phases(&emitter, &p->phases, blocks, y);
        return emitter.status;
    }
    if (p->is_conv) {
        ry_emit_into(&emitter, RY_OP_qconv, attrs, 5, in, 1, &y);
        name_node(&emitter, y, from);
        return emitter.status;
    }
    in[0] = rows_of(&emitter, in[0]);
    in[1] = matrix_of(&emitter, in[1], p->axis);
    const ry_value_id rows = ry_emit(&emitter, RY_OP_qconv, attrs, 5, in);
    name_node(&emitter, rows, from);
    const ry_shape shape = ry_emit_shape(&emitter, y);
    ry_attrs view = ry_attrs_default(RY_OP_reshape);
    view.reshape.allow_zero = 1;
    view.reshape.shape.count = shape.rank;
    memcpy(view.reshape.shape.at, shape.dim, (size_t)shape.rank * sizeof *shape.dim);
    ry_emit_into(&emitter, RY_OP_reshape, &view, 1, &rows, 1, &y);
    return emitter.status;
}

/* How the product ends. */
static rynd_status find_end(const ry_quantising *z, const ry_quantised_product *p,
                            ry_quantised_end *end, result *kind)
{
    bool found = p->requantise != RY_NO_NODE;
    *end = (ry_quantised_end){.high = UINT8_MAX};
    if (found) {
        end->node[end->nodes++] = p->requantise;
        end->out = z->graph->nodes[p->requantise].out[0];
        end->q = p->y_quantiser;
    } else if (!p->integers) {
        RY_TRY(ry_find_quantised_end(z, p->y, end, &found));
    }
    *kind = found ? BYTES : p->integers ? SUMS : FLOATS;
    return RYND_OK;
}

/* x, weights and scales of the quantised convolution. False: memory is out. */
static bool make_operands(ry_quantising *z, const ry_quantised_product *p, bool plain, result kind,
                          float y_scale, ry_value_id in[5])
{
    in[0] = ry_unsigned_of(z, p->x);
    in[1] = weights_of(z, p, plain);
    in[3] = RY_NO_VALUE;
    in[4] = kind == SUMS ? RY_NO_VALUE : make_scales(z, p, kind == BYTES ? y_scale : 1);
    return in[0] != RY_NO_VALUE && in[1] != RY_NO_VALUE && (kind == SUMS || in[4] != RY_NO_VALUE);
}

rynd_status ry_quantise_product(ry_quantising *z, ry_node_id id)
{
    ry_quantised_product p;
    ry_quantised_end end;
    result kind;
    bool plain, made;
    ry_value_id in[5];
    if (!ry_read_quantised_product(z, id, &p) || !fit_int8(z->graph, &p, &plain)) {
        return RYND_OK;
    }
    RY_TRY(make_bias(z, &p, &in[2], &made));
    if (!made) {
        return RYND_OK;
    }
    RY_TRY(find_end(z, &p, &end, &kind));
    const ry_attrs attrs = attrs_of(z->graph, &p, &end, kind);
    if (!make_operands(z, &p, plain, kind, end.q.scale, in)) {
        return ry_fail_memory(z->error);
    }
    const origin from = {z->graph->values[p.y].name, z->graph->nodes[id].name,
                         z->graph->nodes[id].source};
    ry_graph_remove_node(z->graph, id);
    const ry_value_id y = kind == BYTES ? ry_take_end(z, &end) : p.y;
    if (y == RY_NO_VALUE) {
        return ry_fail_memory(z->error);
    }
    return emit(z, &from, &attrs, &p, in, y);
}
