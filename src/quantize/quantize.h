/* SPDX-License-Identifier: Apache-2.0 */
/* From a net of float32 operators and the ranges of its tensors to one of 8-bit operators, as ONNX
 * says that: DequantizeLinear before an operator, QuantizeLinear behind it (QDQ).
 *
 * A tensor is quantised if a quantised operator reads it. So the output of a layer that only float32
 * operators read stays in float32. */
#ifndef RY_QUANTIZE_QUANTIZE_H
#define RY_QUANTIZE_QUANTIZE_H

#include "onnx/net.h"
#include "quantize/histogram.h"

#include <string.h>

/* Element i of a constant of float32, which may lie at any address of the model's file. */
static inline float ry_constant_at(const void *data, int64_t i)
{
    float value;
    memcpy(&value, (const char *)data + i * (int64_t)sizeof value, sizeof value);
    return value;
}

#define RY_NO_INDEX UINT32_MAX

/* What an operator is for quantisation. */
typedef enum ry_quant_role {
    RY_QUANT_other,   /* float32 */
    RY_QUANT_product, /* convolution or product by constant weights: a layer */
    RY_QUANT_sum,     /* sum of two computed tensors: a layer */
    RY_QUANT_pool,    /* average: a layer */
    RY_QUANT_move,    /* outputs are elements of inputs, so all share a range */
    RY_QUANT_bound,   /* Relu, Clip: part of the operator before it */
} ry_quant_role;

/* The observed values of a channel. */
typedef struct ry_quant_channel {
    double sum, squares;
    float low, high; /* least and largest, or zero */
} ry_quant_channel;

typedef struct ry_quant_tensor {
    const char *name;
    uint32_t producer; /* node; RY_NO_INDEX: an input of the model */
    uint32_t root;     /* the tensor whose range it shares; its own index: itself */
    bool wanted;       /* quantised if all layers are */
    uint32_t bound;    /* Relu or Clip behind the tensor; RY_NO_INDEX: none */
    int channel_axis;  /* axis of `channel`; -1: not observed */
    int64_t channels;  /* 0: not observed yet */
    ry_quant_channel *channel;
    uint64_t channel_count; /* values of a channel */
    ry_histogram *histogram;
    float scale; /* after ry_quantize_choose */
    int zero;    /* zero point as uint8 */
    /* Root: the bytes are of value / share[channel], and the weights that read them are times
     * share[channel]. NULL: all 1. */
    float *share;
    int64_t first_share; /* the place of channel 0 among the root's shares */
    bool divides; /* its shares are taken off before it is quantised; the others have bytes */
} ry_quant_tensor;

typedef struct ry_quant_layer {
    uint32_t node, x; /* x: the tensor it reads first */
    int axis;         /* axis of the weights' output channels; -1: no weights */
    /* made by ry_quantize_weights */
    ry_tensor weights, weight_scale, weight_zero, bias, bias_scale;
    bool has_bias;
} ry_quant_layer;

typedef struct ry_quantization {
    const ry_net *net; /* in float32; outlives this */
    ry_arena *arena;
    bool per_tensor, correct; /* rynd_quantize_options */
    ry_dtype activations;
    ry_quant_role *role;     /* per node */
    uint32_t *layer_of_node; /* RY_NO_INDEX: none */
    ry_quant_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    ry_names tensor_names;
    ry_quant_layer *layers;
    size_t layer_count;
} ry_quantization;

/* Makes a float16 net compute in float32, with conversions at its inputs and outputs. */
rynd_status ry_quantize_widen(ry_net *net, ry_error *error);
/* Makes a convolution take over the batch normalisation behind it. */
rynd_status ry_quantize_fold_norms(ry_net *net, ry_error *error);
/* Balances the channels between neighbouring layers (rynd_quantize_options.equalise). */
rynd_status ry_quantize_equalise(ry_net *net, ry_error *error);

/* Finds the layers, the tensors between them, and the tensors that share a range. Fails with
 * UNSUPPORTED if the net is quantised, or has no layer. */
rynd_status ry_quantize_analyse(const ry_net *net, ry_arena *arena, ry_quantization *q,
                                ry_error *error);

/* How scales, zero points and shares of channels are chosen. */
typedef struct ry_quant_choice {
    rynd_calibration method; /* not AUTO */
    double percentile;
    double noise_part; /* shares of channels must leave less than this part of the noise */
} ry_quant_choice;

/* Chooses scales and zero points from the histograms, shares of channels, and quantises the
 * weights. It may be called again. */
rynd_status ry_quantize_choose(ry_quantization *q, const ry_quant_choice *how, ry_error *error);
rynd_status ry_quantize_weights(ry_quantization *q, ry_quant_layer *layer, ry_error *error);

/* Gives the channels of a tensor shares where that makes less noise at the outputs of the
 * convolutions that read it. Scales and zero points are chosen. */
rynd_status ry_quantize_choose_shares(ry_quantization *q, double noise_part, ry_error *error);
/* The shares of a tensor's channels; NULL: all 1. */
const float *ry_quantize_shares(const ry_quantization *q, uint32_t tensor);
/* The layer whose output takes over the shares of a tensor, when the layers with on[layer] are
 * quantised; RY_NO_INDEX: none, the tensor must be divided. */
uint32_t ry_quantize_share_taker(const ry_quantization *q, const bool *on, uint32_t tensor);

/* Which tensors are quantised when the layers with on[layer] are: want[tensor_count]; and which
 * tensors an operator on bytes gives: bytes[tensor_count]. */
void ry_quantize_wants(const ry_quantization *q, const bool *on, bool *want, bool *bytes);
/* The net with the layers on[layer] quantised; in the arena. */
rynd_status ry_quantize_insert(const ry_quantization *q, const bool *on, ry_arena *arena,
                               ry_net *made, ry_error *error);

/* The index of a tensor; RY_NO_INDEX: it is none (a constant, no float32, absent). */
uint32_t ry_quantize_tensor(const ry_quantization *q, const char *name);
uint32_t ry_quantize_root(const ry_quantization *q, uint32_t tensor);
/* The tensor at the end of the layer of a node: its output, or that of the bound behind it. */
uint32_t ry_quantize_end(const ry_quantization *q, uint32_t node);
/* Number of inputs of a node that are tensors to be quantised. */
int ry_quantize_operands(const ry_quantization *q, uint32_t node);

#endif
