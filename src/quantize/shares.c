/* SPDX-License-Identifier: Apache-2.0 */
/* Channels whose values are small lose most when a tensor has one scale. Such a channel is divided
 * by its share of the range before it is quantised, and the weights that read it are multiplied by
 * it: Xiao et al., "SmoothQuant", ICML 2023, for convolutions. Scales of bytes, weights and outputs
 * are otherwise as before. */
#include "quantize/quantize.h"

#include <math.h>
#include <string.h>

/* A tensor with what reads it. */
typedef struct sharing {
    const ry_quantization *q;
    uint32_t root, entry; /* entry: the member that no member is made of */
    int64_t channels;
    const ry_quant_channel *channel;
    double count;   /* observed values of a channel */
    double *energy; /* sum of the squared weights that read a channel */
    double *most;   /* [layer][channel]: largest weight of the layer's output that reads it */
    float *share;   /* the best so far */
    int zero;
    double scale;
} sharing;

static const ry_net_node *node_of(const ry_quantization *q, uint32_t n)
{
    return &q->net->nodes[n];
}

/* Does a node that moves elements leave each in its channel? */
static bool keeps_channels(const ry_net_node *node)
{
    return strcmp(node->op, "MaxPool") == 0 || strcmp(node->op, "Resize") == 0;
}

static bool is_depthwise(const ry_tensor *w, double groups)
{
    return w->dim[1] == 1 && groups == (double)w->dim[0];
}

/* Can the weights of the node take over shares of its input 0? */
static bool takes_shares(const ry_quantization *q, const ry_net_node *node, ry_tensor *w)
{
    const double groups = ry_net_number(node, "group", 1);
    return strcmp(node->op, "Conv") == 0 && ry_net_constant_of(q->net, node->in[1], w) &&
           (groups == 1 || is_depthwise(w, groups));
}

static bool is_member(const ry_quantization *q, const char *name, uint32_t root)
{
    const uint32_t t = ry_quantize_tensor(q, name);
    return t != RY_NO_INDEX && q->tensors[t].wanted && ry_quantize_root(q, t) == root;
}

/* Do convolutions read the members, and nodes that make other members? Floats are read elsewhere.
 * Sets the entry. */
static bool find_entry(sharing *s)
{
    const ry_quantization *q = s->q;
    s->entry = RY_NO_INDEX;
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = node_of(q, n);
        ry_tensor w;
        for (int i = 0; i < ry_quantize_operands(q, n); i++) {
            const bool moves = q->role[n] == RY_QUANT_move,
                       fits = moves ? keeps_channels(node)
                                    : q->role[n] != RY_QUANT_product || takes_shares(q, node, &w);
            const bool computes = q->role[n] == RY_QUANT_sum || q->role[n] == RY_QUANT_pool;
            if (is_member(q, node->in[i], s->root) && (!fits || computes)) {
                return false;
            }
        }
    }
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        const uint32_t producer = q->tensors[t].producer;
        if (!q->tensors[t].wanted || ry_quantize_root(q, t) != s->root ||
            (producer != RY_NO_INDEX && q->role[producer] == RY_QUANT_move &&
             is_member(q, node_of(q, producer)->in[0], s->root))) {
            continue;
        }
        if (s->entry != RY_NO_INDEX) {
            return false;
        }
        s->entry = t;
    }
    return s->entry != RY_NO_INDEX;
}

static bool reads(const sharing *s, size_t layer)
{
    const ry_quant_layer *l = &s->q->layers[layer];
    return l->axis >= 0 && ry_quantize_root(s->q, l->x) == s->root && s->q->tensors[l->x].wanted;
}

/* Visits a layer's weights: `visit(what, output channel, input channel, weight)`. */
typedef struct weight_walk {
    const float *data;
    int64_t outputs, inputs, taps;
    bool depthwise;
} weight_walk;

static weight_walk walk_of(const sharing *s, size_t layer)
{
    const ry_net_node *node = node_of(s->q, s->q->layers[layer].node);
    ry_tensor w;
    takes_shares(s->q, node, &w);
    weight_walk walk = {.data = w.data, .outputs = w.dim[0], .inputs = w.dim[1], .taps = 1};
    walk.depthwise = is_depthwise(&w, ry_net_number(node, "group", 1));
    for (int d = 2; d < w.rank; d++) {
        walk.taps *= w.dim[d];
    }
    return walk;
}

static void add_energy(sharing *s)
{
    for (size_t layer = 0; layer < s->q->layer_count; layer++) {
        if (!reads(s, layer)) {
            continue;
        }
        const weight_walk w = walk_of(s, layer);
        for (int64_t i = 0; i < w.outputs * w.inputs * w.taps; i++) {
            const int64_t c = w.depthwise ? i / w.taps : i / w.taps % w.inputs;
            s->energy[c] += (double)w.data[i] * (double)w.data[i];
        }
    }
}

/* Noise at the outputs of the layers by rounding their weights. */
static double weight_noise(const sharing *s, const float *share)
{
    double noise = 0;
    for (size_t layer = 0; layer < s->q->layer_count; layer++) {
        if (!reads(s, layer)) {
            continue;
        }
        const weight_walk w = walk_of(s, layer);
        for (int64_t k = 0; k < w.outputs && !w.depthwise; k++) {
            double most = 0, squares = 0;
            for (int64_t c = 0; c < w.inputs; c++) {
                const float *taps = w.data + (k * w.inputs + c) * w.taps;
                for (int64_t t = 0; t < w.taps; t++) {
                    most = fmax(most, fabs((double)taps[t] * (double)share[c]));
                }
                squares += (double)w.taps * s->channel[c].squares / s->count /
                           ((double)share[c] * (double)share[c]);
            }
            noise += most * most / (INT8_MAX * INT8_MAX) / 12 * squares;
        }
    }
    return noise;
}

/* Scale of a channel alone with a zero point. */
static double own_scale(const ry_quant_channel *c, int zero)
{
    const double above = c->high > 0 ? (double)c->high / (UINT8_MAX - zero) : 0,
                 below = c->low < 0 ? -(double)c->low / zero : 0;
    return fmax(above, below);
}

/* The largest scale of a channel, and the noise if each channel has its own scale. */
static double input_noise(const sharing *s, int zero, double exponent, double *scale)
{
    double noise = 0;
    *scale = 0;
    for (int64_t c = 0; c < s->channels; c++) {
        *scale = fmax(*scale, own_scale(&s->channel[c], zero));
    }
    for (int64_t c = 0; c<s->channels && * scale> 0 && isfinite(*scale); c++) {
        const double step = *scale * pow(own_scale(&s->channel[c], zero) / *scale, exponent);
        noise += step * step / 12 * s->energy[c];
    }
    return isfinite(*scale) && *scale > 0 ? noise : INFINITY;
}

/* Tries shares between none (exponent 0) and a full range for each channel (exponent 1). */
static double choose_shares(sharing *s, float *share)
{
    enum { EXPONENTS = 4, LEAST = 256 /* 1 / LEAST: smallest share */ };
    double best = INFINITY;
    for (int e = 1; e <= EXPONENTS; e++) {
        const double exponent = (double)e / EXPONENTS;
        double least = INFINITY, scale = 0;
        int zero = 0;
        for (int z = 0; z <= UINT8_MAX; z++) {
            double own;
            const double noise = input_noise(s, z, exponent, &own);
            if (noise < least) {
                least = noise;
                scale = own;
                zero = z;
            }
        }
        for (int64_t c = 0; c < s->channels && scale > 0; c++) {
            const double part = own_scale(&s->channel[c], zero) / scale;
            share[c] = (float)pow(fmax(part, 1.0 / LEAST), exponent);
        }
        const double noise = scale > 0 ? least + weight_noise(s, share) : INFINITY;
        if (noise < best) {
            best = noise;
            s->zero = zero;
            s->scale = scale;
            memcpy(s->share, share, (size_t)s->channels * sizeof *share);
        }
    }
    return best;
}

/* The noise with one scale for all channels. */
static double plain_noise(const sharing *s, float *ones)
{
    const ry_quant_tensor *root = &s->q->tensors[s->root];
    const double step = (double)root->scale;
    const ry_range range = {-root->zero * step, (UINT8_MAX - root->zero) * step};
    double energy = 0;
    for (int64_t c = 0; c < s->channels; c++) {
        energy += s->energy[c];
        ones[c] = 1;
    }
    return ry_histogram_error(root->histogram, range) * energy + weight_noise(s, ones);
}

/* Divisions cost time where no convolution takes the shares over. */
static bool is_worth(const sharing *s, double with, double without, const bool *all)
{
    const double least = ry_quantize_share_taker(s->q, all, s->entry) == RY_NO_INDEX ? 0.5 : 0.9;
    return with < least * without;
}

static rynd_status share_tensor(ry_quantization *q, uint32_t root, const bool *all, ry_error *error)
{
    sharing s = {.q = q, .root = root};
    if (!q->tensors[root].histogram || !find_entry(&s) || !q->tensors[s.entry].channel ||
        q->tensors[s.entry].channel_count == 0) {
        return RYND_OK;
    }
    s.channels = q->tensors[s.entry].channels;
    s.channel = q->tensors[s.entry].channel;
    s.count = (double)q->tensors[s.entry].channel_count;
    s.energy = RY_TAKE(q->arena, double, s.channels);
    s.share = RY_TAKE(q->arena, float, s.channels);
    float *share = RY_TAKE(q->arena, float, s.channels);
    if (!s.energy || !s.share || !share) {
        return ry_fail_memory(error);
    }
    add_energy(&s);
    const double without = plain_noise(&s, share), with = choose_shares(&s, share);
    if (is_worth(&s, with, without, all)) {
        q->tensors[root].share = s.share;
        q->tensors[s.entry].divides = true;
        q->tensors[root].scale = (float)s.scale;
        q->tensors[root].zero = s.zero;
    }
    return RYND_OK;
}

rynd_status ry_quantize_choose_shares(ry_quantization *q, ry_error *error)
{
    bool *all = RY_TAKE(q->arena, bool, q->layer_count);
    if (!all) {
        return ry_fail_memory(error);
    }
    memset(all, 1, q->layer_count * sizeof *all);
    for (uint32_t t = 0; t < q->tensor_count && !q->per_tensor; t++) {
        if (q->tensors[t].wanted && q->tensors[t].root == t) {
            RY_TRY(share_tensor(q, t, all, error));
        }
    }
    return RYND_OK;
}

/* Do only quantised layers read a value, and nodes that move its bytes to such layers? */
static bool is_read_in_bytes(const ry_quantization *q, const bool *on, const char *name)
{
    if (ry_net_is_output(q->net, name)) {
        return false;
    }
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = node_of(q, n);
        bool reads = node->graphs;
        for (int i = 0; i < node->inputs; i++) {
            reads = reads || strcmp(node->in[i], name) == 0;
        }
        if (!reads) {
            continue;
        }
        const bool moves = q->role[n] == RY_QUANT_move && keeps_channels(node);
        if (node->graphs ||
            (!moves && (q->layer_of_node[n] == RY_NO_INDEX || !on[q->layer_of_node[n]])) ||
            (moves && !is_read_in_bytes(q, on, node->out[0]))) {
            return false;
        }
    }
    return true;
}

uint32_t ry_quantize_share_taker(const ry_quantization *q, const bool *on, uint32_t tensor)
{
    uint32_t n = q->tensors[tensor].producer;
    const char *name = q->tensors[tensor].name;
    if (n != RY_NO_INDEX && strcmp(node_of(q, n)->op, "Relu") == 0) {
        const uint32_t before = ry_quantize_tensor(q, node_of(q, n)->in[0]);
        uint32_t readers = 0;
        for (uint32_t r = 0; r < q->net->node_count; r++) {
            for (int i = 0; i < node_of(q, r)->inputs; i++) {
                readers += strcmp(node_of(q, r)->in[i], node_of(q, n)->in[0]) == 0;
            }
        }
        n = readers == 1 && before != RY_NO_INDEX && !ry_net_is_output(q->net, node_of(q, n)->in[0])
                ? q->tensors[before].producer
                : RY_NO_INDEX;
    }
    const uint32_t layer = n == RY_NO_INDEX ? RY_NO_INDEX : q->layer_of_node[n];
    return layer != RY_NO_INDEX && on[layer] && q->layers[layer].axis >= 0 &&
                   strncmp(node_of(q, n)->op, "Conv", 4) == 0 && is_read_in_bytes(q, on, name)
               ? layer
               : RY_NO_INDEX;
}
