/* SPDX-License-Identifier: Apache-2.0 */
/* Scales and zero points of tensors, and quantised weights and biases. */
#include "onnx/net_attributes.h"
#include "onnx/wire.h"
#include "quantize/quantize.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* One range for all tensors of a group, in the root's histogram. */
static void join_histograms(ry_quantization *q)
{
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        const uint32_t root = ry_quantize_root(q, t);
        ry_quant_tensor *tensor = &q->tensors[t], *to = &q->tensors[root];
        if (root == t || !tensor->histogram) {
            continue;
        }
        if (to->histogram) {
            ry_histogram_join(to->histogram, tensor->histogram);
        } else {
            to->histogram = tensor->histogram;
        }
        tensor->histogram = NULL;
    }
}

static void set_scale(ry_quant_tensor *tensor, ry_range range)
{
    const double scale = (range.high - range.low) / UINT8_MAX;
    /* a tensor of zeros, or of subnormal numbers */
    tensor->scale = scale > FLT_MIN ? (float)scale : 1.0f / UINT8_MAX;
    tensor->zero = (int)fmin(fmax(rint(-range.low / (double)tensor->scale), 0), UINT8_MAX);
}

rynd_status ry_quantize_choose(ry_quantization *q, const ry_quant_choice *how, ry_error *error)
{
    join_histograms(q);
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        q->tensors[t].share = NULL;
        q->tensors[t].first_share = 0;
        q->tensors[t].divides = false;
    }
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        if (q->tensors[t].root == t && q->tensors[t].histogram) {
            set_scale(&q->tensors[t],
                      ry_histogram_range(q->tensors[t].histogram, how->method, how->percentile));
        }
    }
    RY_TRY(ry_quantize_choose_shares(q, how->noise_part, error));
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        const ry_quant_tensor *root = &q->tensors[ry_quantize_root(q, t)];
        q->tensors[t].scale = root->scale;
        q->tensors[t].zero = root->zero;
    }
    for (size_t i = 0; i < q->layer_count; i++) {
        if (q->layers[i].axis >= 0) {
            RY_TRY(ry_quantize_weights(q, &q->layers[i], error));
        }
    }
    return RYND_OK;
}

/* The weights of a layer, seen as [outer][channels][inner]. */
typedef struct weight_view {
    const void *data; /* float32 (ry_constant_at) */
    int64_t outer, channels, inner;
} weight_view;

static weight_view view_of(const ry_tensor *w, int axis)
{
    weight_view view = {.data = w->data, .outer = 1, .channels = w->dim[axis], .inner = 1};
    for (int d = 0; d < axis; d++) {
        view.outer *= w->dim[d];
    }
    for (int d = axis + 1; d < w->rank; d++) {
        view.inner *= w->dim[d];
    }
    return view;
}

static float largest(const weight_view *view, int64_t channel)
{
    float most = 0;
    for (int64_t o = 0; o < view->outer; o++) {
        const int64_t first = (o * view->channels + channel) * view->inner;
        for (int64_t i = 0; i < view->inner; i++) {
            const float size = fabsf(ry_constant_at(view->data, first + i));
            most = size > most ? size : most;
        }
    }
    return most;
}

static ry_tensor make_tensor(ry_quantization *q, ry_dtype dtype, int rank, const int64_t *dim)
{
    const ry_shape shape = ry_shape_of(rank, dim);
    return ry_tensor_row_major(
        dtype, &shape,
        ry_arena_take(q->arena, (size_t)ry_shape_elements(&shape) + 1, ry_dtype_size(dtype)));
}

/* A bias in int32 needs a step that is not too small for it. */
static float least_scale(const ry_tensor *bias, int64_t channel, float x_scale)
{
    const double b = bias->data ? fabs((double)ry_constant_at(bias->data, channel)) : 0;
    return (float)(b / (double)x_scale / (INT32_MAX / 2));
}

static void choose_scales(const ry_quantization *q, const ry_quant_layer *layer,
                          const weight_view *view, const ry_tensor *bias, float *scale)
{
    const float x_scale = q->tensors[layer->x].scale;
    for (int64_t c = 0; c < view->channels; c++) {
        const int64_t at = q->per_tensor ? 0 : c;
        const float s = fmaxf(largest(view, c) / INT8_MAX, least_scale(bias, c, x_scale));
        scale[at] = c == 0 || !q->per_tensor ? s : fmaxf(scale[at], s);
    }
    for (int64_t c = 0; c < (q->per_tensor ? 1 : view->channels); c++) {
        scale[c] = scale[c] > FLT_MIN ? scale[c] : 1.0f / INT8_MAX; /* weights of zeros */
    }
}

/* The mean of an input channel; of all channels if they were not observed one by one. */
static double mean_of(const ry_quant_tensor *x, int64_t channel)
{
    return x->channel && channel < x->channels && x->channel_count
               ? x->channel[channel].sum / (double)x->channel_count
               : 0;
}

/* Weights as they are rounded: times the shares of the channels that they read. */
static const void *shared_weights(ry_quantization *q, const ry_quant_layer *layer,
                                  const ry_tensor *w, int64_t groups)
{
    const float *share = ry_quantize_shares(q, layer->x);
    const int64_t count = ry_tensor_count(w);
    float *to = share ? RY_TAKE(q->arena, float, count + 1) : NULL;
    const int64_t taps = to ? count / (w->dim[0] * w->dim[1]) : 1;
    for (int64_t i = 0; to && i < count; i++) {
        const int64_t row = i / taps, channel = groups > 1 ? row : row % w->dim[1];
        to[i] = ry_constant_at(w->data, i) * share[channel];
    }
    return share ? to : w->data;
}

typedef struct weight_uses {
    int64_t groups;
    double positions; /* a weight adds to one of so many outputs */
} weight_uses;

/* A weight of a transposed convolution adds to one of so many outputs: the product of strides. */
static rynd_status read_positions(const ry_net *net, const ry_net_node *node, double *positions,
                                  ry_error *error)
{
    ry_attribute_record strides;
    bool found = strcmp(node->op, "ConvTranspose") == 0, bad = false;
    *positions = 1;
    if (found) {
        RY_TRY(ry_net_attribute(net, node, "strides", &strides, &found, error));
    }
    for (uint64_t stride; found && ry_packed_varint(&strides.numbers, &stride, &bad);) {
        *positions *= (double)stride;
    }
    return RYND_OK;
}

/* Rounds the weights, and sums up each channel's error for the mean input: `shift`. */
static void round_weights(const ry_quantization *q, const ry_quant_layer *layer,
                          const weight_view *view, const weight_uses *uses, double *shift)
{
    const ry_quant_tensor *x = &q->tensors[layer->x];
    const float *share = ry_quantize_shares(q, layer->x);
    const float *scale = layer->weight_scale.data;
    int8_t *to = layer->weights.data;
    /* Conv: dim 1 is the input channel, dims behind it taps. A matrix: the other dim. */
    const int64_t taps = layer->weights.rank > 2 ? view->inner / layer->weights.dim[1] : 1;
    for (int64_t o = 0; o < view->outer; o++) {
        for (int64_t c = 0; c < view->channels; c++) {
            const int64_t begin = (o * view->channels + c) * view->inner;
            const float s = scale[q->per_tensor ? 0 : c];
            const int64_t first = layer->weights.rank > 2
                                      ? c / (view->channels / uses->groups) * layer->weights.dim[1]
                                      : 0;
            for (int64_t i = 0; i < view->inner; i++) {
                const float w = ry_constant_at(view->data, begin + i);
                const float steps = rintf(w / s);
                to[begin + i] = (int8_t)fminf(fmaxf(steps, -INT8_MAX), INT8_MAX);
                const int64_t in = layer->axis == 1 ? o : first + i / taps;
                const double mean =
                    mean_of(x, in) / (share ? (double)share[in] : 1) / uses->positions;
                shift[c] += ((double)w - (double)to[begin + i] * (double)s) * mean;
            }
        }
    }
}

static void round_bias(const ry_quantization *q, const ry_quant_layer *layer, const ry_tensor *bias,
                       const double *shift, int64_t channels)
{
    const double x_scale = (double)q->tensors[layer->x].scale;
    for (int64_t c = 0; c < channels; c++) {
        const int64_t at = q->per_tensor ? 0 : c;
        float *step = (float *)layer->bias_scale.data + at;
        *step = (float)(x_scale * (double)((const float *)layer->weight_scale.data)[at]);
        const double b =
            (bias->data ? (double)ry_constant_at(bias->data, c) : 0) + (q->correct ? shift[c] : 0);
        const double steps = rint(b / (double)*step);
        ((int32_t *)layer->bias.data)[c] =
            (int32_t)fmin(fmax(steps, -(double)INT32_MAX), INT32_MAX);
    }
}

rynd_status ry_quantize_weights(ry_quantization *q, ry_quant_layer *layer, ry_error *error)
{
    const ry_net_node *node = &q->net->nodes[layer->node];
    ry_tensor w, bias = {0};
    ry_net_constant_of(q->net, node->in[1], &w);
    if (node->inputs > 2 && *node->in[2]) {
        ry_net_constant_of(q->net, node->in[2], &bias);
    }
    weight_uses uses = {.groups = (int64_t)ry_net_number(node, "group", 1)};
    RY_TRY(read_positions(q->net, node, &uses.positions, error));
    weight_view view = view_of(&w, layer->axis);
    view.data = shared_weights(q, layer, &w, uses.groups);
    const int rank = q->per_tensor ? 0 : 1;
    const bool is_matmul = strcmp(node->op, "MatMul") == 0;
    layer->has_bias = !is_matmul && (bias.data || q->correct);
    layer->weights = make_tensor(q, RY_i8, w.rank, w.dim);
    layer->weight_scale = make_tensor(q, RY_f32, rank, &view.channels);
    layer->weight_zero = make_tensor(q, RY_i8, rank, &view.channels);
    layer->bias = make_tensor(q, RY_i32, 1, &view.channels);
    layer->bias_scale = make_tensor(q, RY_f32, rank, &view.channels);
    double *shift = RY_TAKE(q->arena, double, view.channels);
    if (!layer->weights.data || !layer->weight_scale.data || !layer->weight_zero.data ||
        !layer->bias.data || !layer->bias_scale.data || !shift || !view.data) {
        return ry_fail_memory(error);
    }
    choose_scales(q, layer, &view, &bias, layer->weight_scale.data);
    round_weights(q, layer, &view, &uses, shift);
    round_bias(q, layer, &bias, shift, view.channels);
    return RYND_OK;
}
