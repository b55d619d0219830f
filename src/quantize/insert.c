/* SPDX-License-Identifier: Apache-2.0 */
/* Puts QuantizeLinear and DequantizeLinear into a net. */
#include "quantize/quantize.h"

#include <string.h>

typedef struct inserting {
    const ry_quantization *q;
    ry_net *made;
    bool *want, *bytes;
    const char **dequantised; /* per tensor; NULL: not quantised */
    const bool *on;           /* per layer */
    ry_error *error;
} inserting;

/* A new constant "NAME/SUFFIX"; NULL: it failed. */
static const char *add_constant(inserting *z, const char *name, const char *suffix,
                                const ry_tensor *tensor)
{
    const char *made = ry_net_name(z->made, name, suffix);
    return made && ry_net_add_constant(z->made, made, tensor, z->error) == RYND_OK ? made : NULL;
}

static ry_tensor scalar(inserting *z, ry_dtype dtype, double value)
{
    const ry_shape shape = {.rank = 0};
    void *data = ry_arena_take(z->made->arena, 1, sizeof(double));
    if (data) {
        ry_set_f64(dtype, data, 0, value);
    }
    return ry_tensor_row_major(dtype, &shape, data);
}

/* Appends a node of three inputs whose name is its output's; returns the output, NULL if it fails. */
static const char *add_node(inserting *z, const char *op, const char *const *in, int inputs,
                            const char *name, const char *suffix)
{
    const char *output = ry_net_name(z->made, name, suffix);
    const char **out = RY_TAKE(z->made->arena, const char *, 1);
    if (!output || !out) {
        return NULL;
    }
    *out = output;
    ry_net_node node = {.name = output, .op = op, .domain = "", .outputs = 1, .out = out};
    return ry_net_set_inputs(z->made, &node, inputs, in, z->error) == RYND_OK &&
                   ry_net_add_node(z->made, &node, z->error) == RYND_OK
               ? output
               : NULL;
}

/* Reciprocal shares along dim 1 of a tensor. NULL data: out of memory. */
static ry_tensor reciprocals(inserting *z, uint32_t t)
{
    const ry_quantization *q = z->q;
    const float *share = ry_quantize_shares(q, t);
    ry_shape shape = {.rank = ry_net_value(q->net, q->tensors[t].name)->shape.rank};
    for (int d = 0; d < shape.rank; d++) {
        shape.dim[d] = d == 1 ? q->tensors[t].channels : 1;
    }
    float *data = RY_TAKE(z->made->arena, float, q->tensors[t].channels);
    for (int64_t c = 0; data && c < q->tensors[t].channels; c++) {
        data[c] = 1 / share[c];
    }
    return ry_tensor_row_major(RY_f32, &shape, data);
}

/* Adds the division of a tensor by its shares. NULL: out of memory. */
static const char *add_division(inserting *z, uint32_t t)
{
    const char *name = z->q->tensors[t].name;
    const ry_tensor by = reciprocals(z, t);
    const char *in[2] = {name, by.data ? add_constant(z, name, "reciprocal_share", &by) : NULL};
    return in[1] ? add_node(z, "Mul", in, 2, name, "shared") : NULL;
}

/* QuantizeLinear and DequantizeLinear behind a tensor that is wanted in bytes. */
static rynd_status add_pair(inserting *z, uint32_t t)
{
    const ry_quant_tensor *tensor = &z->q->tensors[t];
    const bool is_signed = z->q->activations == RY_i8;
    if (!z->want[t]) {
        return RYND_OK;
    }
    const ry_tensor scale = scalar(z, RY_f32, (double)tensor->scale),
                    zero = scalar(z, z->q->activations, tensor->zero - (is_signed ? 128 : 0));
    if (!scale.data || !zero.data) {
        return ry_fail_memory(z->error);
    }
    const bool divided = tensor->divides && ry_quantize_share_taker(z->q, z->on, t) == RY_NO_INDEX;
    const char *in[3] = {divided ? add_division(z, t) : tensor->name,
                         add_constant(z, tensor->name, "scale", &scale),
                         add_constant(z, tensor->name, "zero_point", &zero)};
    if (!in[0] || !in[1] || !in[2]) {
        return ry_fail_memory(z->error);
    }
    in[0] = add_node(z, "QuantizeLinear", in, 3, tensor->name, "quantized");
    z->dequantised[t] =
        in[0] ? add_node(z, "DequantizeLinear", in, 3, tensor->name, "dequantized") : NULL;
    return z->dequantised[t] ? RYND_OK : ry_fail_memory(z->error);
}

/* The name of dequantised weights or a bias; NULL: it failed. */
static const char *add_dequantised(inserting *z, const char *name, const char *what,
                                   const ry_tensor *data, const ry_tensor *scale,
                                   const ry_tensor *zero, int axis)
{
    const char *base = ry_arena_format(z->made->arena, "%s/%s", name, what);
    const char *in[3];
    if (!base) {
        return NULL;
    }
    in[0] = add_constant(z, base, "quantized", data);
    in[1] = add_constant(z, base, "scale", scale);
    in[2] = zero ? add_constant(z, base, "zero_point", zero) : "";
    const char *made = in[0] && in[1] && in[2]
                           ? add_node(z, "DequantizeLinear", in, zero ? 3 : 2, base, "dequantized")
                           : NULL;
    return made && (scale->rank == 0 ||
                    ry_net_set_int(z->made, &z->made->nodes[z->made->node_count - 1], "axis", axis,
                                   z->error) == RYND_OK)
               ? made
               : NULL;
}

/* Reads the scales of a layer's weights and bias; the layer may take over the shares of its output. */
static rynd_status scales_of(inserting *z, uint32_t number, ry_tensor *weights, ry_tensor *bias)
{
    const ry_quantization *q = z->q;
    const ry_quant_layer *layer = &q->layers[number];
    const uint32_t end = ry_quantize_end(q, layer->node);
    const float *share = ry_quantize_shares(q, end);
    *weights = layer->weight_scale;
    *bias = layer->bias_scale;
    if (!q->tensors[end].divides || ry_quantize_share_taker(q, z->on, end) != number) {
        return RYND_OK;
    }
    const int64_t channels = ry_tensor_count(weights);
    float *w = RY_TAKE(z->made->arena, float, channels),
          *b = RY_TAKE(z->made->arena, float, channels);
    RY_TRY(w && b ? RYND_OK : ry_fail_memory(z->error));
    for (int64_t c = 0; c < channels; c++) {
        w[c] = ((const float *)layer->weight_scale.data)[c] / share[c];
        b[c] = q->tensors[layer->x].scale * w[c];
    }
    weights->data = w;
    bias->data = b;
    return RYND_OK;
}

static rynd_status quantise_weights(inserting *z, uint32_t number, ry_net_node *node)
{
    const ry_quant_layer *layer = &z->q->layers[number];
    ry_tensor weight_scale, bias_scale;
    RY_TRY(scales_of(z, number, &weight_scale, &bias_scale));
    const char *weights = add_dequantised(z, node->out[0], "weights", &layer->weights,
                                          &weight_scale, &layer->weight_zero, layer->axis);
    if (!weights) {
        return ry_fail_memory(z->error);
    }
    RY_TRY(ry_net_set_input(z->made, node, 1, weights, z->error));
    if (!layer->has_bias) {
        return RYND_OK;
    }
    const char *bias = add_dequantised(z, node->out[0], "bias", &layer->bias, &bias_scale, NULL, 0);
    return bias ? ry_net_set_input(z->made, node, 2, bias, z->error) : ry_fail_memory(z->error);
}

/* Does the node compute on bytes? */
static bool is_quantised(const inserting *z, uint32_t n)
{
    const ry_quantization *q = z->q;
    const ry_net_node *node = &q->net->nodes[n];
    bool wanted = false;
    if (q->layer_of_node[n] != RY_NO_INDEX) {
        return z->on[q->layer_of_node[n]];
    }
    for (int i = 0; q->role[n] == RY_QUANT_move && i < node->outputs; i++) {
        const uint32_t t = ry_quantize_tensor(q, node->out[i]);
        wanted = wanted || (t != RY_NO_INDEX && z->want[t]);
    }
    return wanted;
}

/* Makes a Relu of a Clip whose layer has taken over the division of its output
 * (ry_quantize_share_taker): its upper bound is the largest byte's. */
static void drop_bound(const inserting *z, ry_net_node *node)
{
    const uint32_t t =
        strcmp(node->op, "Clip") == 0 ? ry_quantize_tensor(z->q, node->out[0]) : RY_NO_INDEX;
    if (t != RY_NO_INDEX && z->want[t] && z->q->tensors[t].divides &&
        ry_quantize_share_taker(z->q, z->on, t) != RY_NO_INDEX) {
        node->op = "Relu";
        node->inputs = 1;
    }
}

static rynd_status take_node(inserting *z, uint32_t n)
{
    const ry_quantization *q = z->q;
    ry_net_node node = q->net->nodes[n];
    drop_bound(z, &node);
    const bool quantised = is_quantised(z, n);
    for (int i = 0; i < node.inputs; i++) {
        const uint32_t t = ry_quantize_tensor(q, node.in[i]);
        /* others read floats where an operator in float32 gives them, or bytes have shares */
        if (t != RY_NO_INDEX && z->dequantised[t] &&
            (quantised || (z->bytes[t] && !ry_quantize_shares(q, t)))) {
            RY_TRY(ry_net_set_input(z->made, &node, i, z->dequantised[t], z->error));
        }
    }
    const uint32_t layer = q->layer_of_node[n];
    if (quantised && layer != RY_NO_INDEX && q->layers[layer].axis >= 0) {
        RY_TRY(quantise_weights(z, layer, &node));
    }
    RY_TRY(ry_net_add_node(z->made, &node, z->error));
    for (int i = 0; i < node.outputs; i++) {
        const uint32_t t = ry_quantize_tensor(q, node.out[i]);
        RY_TRY(t == RY_NO_INDEX ? RYND_OK : add_pair(z, t));
    }
    return RYND_OK;
}

rynd_status ry_quantize_insert(const ry_quantization *q, const bool *on, ry_arena *arena,
                               ry_net *made, ry_error *error)
{
    inserting z = {.q = q,
                   .made = made,
                   .want = RY_TAKE(arena, bool, q->tensor_count),
                   .bytes = RY_TAKE(arena, bool, q->tensor_count),
                   .dequantised = RY_TAKE(arena, const char *, q->tensor_count),
                   .on = on,
                   .error = error};
    if (!z.want || !z.bytes || !z.dequantised) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_net_copy(q->net, arena, made, error));
    made->node_count = 0;
    ry_quantize_wants(q, on, z.want, z.bytes);
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        RY_TRY(q->tensors[t].producer == RY_NO_INDEX ? add_pair(&z, t) : RYND_OK);
    }
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        RY_TRY(take_node(&z, n));
    }
    return RYND_OK;
}
