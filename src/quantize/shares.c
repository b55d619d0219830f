/* SPDX-License-Identifier: Apache-2.0 */
/* Channels whose values are small lose most when a tensor has one scale. Such a channel is divided
 * by its share of the range before it is quantised, and the weights that read it are multiplied by
 * it: Xiao et al., "SmoothQuant", ICML 2023, for convolutions. Scales of bytes, weights and outputs
 * are otherwise as before. */
#include "quantize/quantize.h"

#include <math.h>
#include <string.h>

/* The tensors of a root with what reads them. Concatenations put the channels of their inputs side
 * by side: a channel of any member has a place in one row of channels. */
typedef struct sharing {
    ry_quantization *q;
    uint32_t root;
    int64_t channels; /* places */
    ry_quant_channel *channel;
    double *count;  /* observed values of a channel */
    double *energy; /* sum of the squared weights that read a channel */
    float *share;   /* the best so far */
    bool *turned;   /* the channel is divided by a negative share */
    int zero;
    double scale;
} sharing;

static const ry_net_node *node_of(const ry_quantization *q, uint32_t n)
{
    return &q->net->nodes[n];
}

static bool is_concat(const ry_net_node *node)
{
    return strcmp(node->op, "Concat") == 0;
}

/* Does a node that moves elements leave each in its channel, or put channels side by side? */
static bool keeps_channels(const ry_net_node *node)
{
    return strcmp(node->op, "MaxPool") == 0 || strcmp(node->op, "Resize") == 0 ||
           (is_concat(node) && ry_net_number(node, "axis", 0) == 1);
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

/* Do only convolutions read the members in bytes, and nodes that make other members? */
static bool is_read_by_convolutions(const sharing *s)
{
    const ry_quantization *q = s->q;
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = node_of(q, n);
        ry_tensor w;
        for (int i = 0; i < ry_quantize_operands(q, n); i++) {
            const bool fits = q->role[n] == RY_QUANT_move      ? keeps_channels(node)
                              : q->role[n] == RY_QUANT_product ? takes_shares(q, node, &w)
                                                               : q->role[n] == RY_QUANT_bound;
            if (is_member(q, node->in[i], s->root) && !fits) {
                return false;
            }
        }
    }
    return true;
}

/* No member makes the tensor. */
static bool is_entry(const sharing *s, uint32_t t)
{
    const ry_quantization *q = s->q;
    const uint32_t producer = q->tensors[t].producer;
    return is_member(q, q->tensors[t].name, s->root) &&
           (producer == RY_NO_INDEX || q->role[producer] != RY_QUANT_move ||
            !is_member(q, node_of(q, producer)->in[0], s->root));
}

/* Sets the places of a node's inputs by that of its output, which is known. False: a tensor would
 * have two. */
static bool place_inputs(const sharing *s, const ry_net_node *node, bool *placed)
{
    int64_t first = s->q->tensors[ry_quantize_tensor(s->q, node->out[0])].first_share;
    for (int i = 0; i < (is_concat(node) ? node->inputs : 1); i++) {
        const uint32_t t = ry_quantize_tensor(s->q, node->in[i]);
        ry_quant_tensor *tensor = &s->q->tensors[t];
        if (!tensor->channel || (placed[t] && tensor->first_share != first)) {
            return false;
        }
        placed[t] = true;
        tensor->first_share = first;
        first += tensor->channels;
    }
    return true;
}

/* Sets the places of all members, from the last one back. False: it is not possible. */
static bool place_members(sharing *s, bool *placed)
{
    const ry_quantization *q = s->q;
    bool any = false;
    for (uint32_t n = (uint32_t)q->net->node_count; n-- > 0;) {
        const ry_net_node *node = node_of(q, n);
        if (q->role[n] != RY_QUANT_move || !is_member(q, node->out[0], s->root) ||
            !is_member(q, node->in[0], s->root)) {
            continue;
        }
        const uint32_t t = ry_quantize_tensor(q, node->out[0]);
        if (!placed[t] && any) {
            return false; /* two last ones */
        }
        any = placed[t] = true;
        if (!place_inputs(s, node, placed)) {
            return false;
        }
    }
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        if (is_member(q, q->tensors[t].name, s->root)) {
            const ry_quant_tensor *tensor = &q->tensors[t];
            if ((!placed[t] && any) || !tensor->channel || tensor->channel_count == 0) {
                return false;
            }
            any = true;
            s->channels = tensor->first_share + tensor->channels > s->channels
                              ? tensor->first_share + tensor->channels
                              : s->channels;
        }
    }
    return any;
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

/* Is a node only a Relu once the channels of its output are divided? A Clip from 0 is, if what lies
 * above its bound is the largest byte anyway. */
static bool is_relu(const ry_quantization *q, const ry_net_node *node, uint32_t tensor)
{
    ry_tensor low, high;
    const ry_quant_tensor *t = &q->tensors[tensor];
    const float *share = ry_quantize_shares(q, tensor);
    if (strcmp(node->op, "Clip") != 0 || !share) {
        return strcmp(node->op, "Relu") == 0;
    }
    if (node->inputs < 3 || t->zero != 0 || !ry_net_constant_of(q->net, node->in[1], &low) ||
        !ry_net_constant_of(q->net, node->in[2], &high) || ry_constant_at(low.data, 0) != 0) {
        return false;
    }
    bool free = true;
    for (int64_t c = 0; c < t->channels; c++) {
        free =
            free && ry_constant_at(high.data, 0) > share[c] * t->scale * ((float)UINT8_MAX - 0.5f);
    }
    return free;
}

uint32_t ry_quantize_share_taker(const ry_quantization *q, const bool *on, uint32_t tensor)
{
    uint32_t n = q->tensors[tensor].producer;
    const char *name = q->tensors[tensor].name;
    if (n != RY_NO_INDEX && is_relu(q, node_of(q, n), tensor)) {
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

/* May channels be divided by negative shares? A layer cannot take such a division over, and the
 * greatest value of negative numbers is another one. */
static bool may_turn(const sharing *s, const bool *on)
{
    const ry_quantization *q = s->q;
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = node_of(q, n);
        if (strcmp(node->op, "MaxPool") == 0 && is_member(q, node->in[0], s->root)) {
            return false;
        }
    }
    for (uint32_t t = 0; t < q->tensor_count; t++) {
        if (is_entry(s, t) && ry_quantize_share_taker(q, on, t) != RY_NO_INDEX) {
            return false;
        }
    }
    return true;
}

/* Turns the channels that lie mostly below zero: one zero point suits all channels only if they lie
 * on one side. */
static void turn_channels(sharing *s)
{
    for (int64_t c = 0; c < s->channels; c++) {
        ry_quant_channel *channel = &s->channel[c];
        s->turned[c] = -channel->low > channel->high;
        if (s->turned[c]) {
            const float low = channel->low;
            channel->low = -channel->high;
            channel->high = -low;
        }
    }
}

/* Joins what the entries' channels hold. */
static void join_channels(sharing *s)
{
    for (uint32_t t = 0; t < s->q->tensor_count; t++) {
        const ry_quant_tensor *tensor = &s->q->tensors[t];
        for (int64_t c = 0; is_entry(s, t) && c < tensor->channels; c++) {
            const ry_quant_channel *from = &tensor->channel[c];
            ry_quant_channel *to = &s->channel[tensor->first_share + c];
            to->squares += from->squares;
            to->low = fminf(to->low, from->low);
            to->high = fmaxf(to->high, from->high);
            s->count[tensor->first_share + c] += (double)tensor->channel_count;
        }
    }
}

static bool reads(const sharing *s, size_t layer)
{
    const ry_quant_layer *l = &s->q->layers[layer];
    return l->axis >= 0 && ry_quantize_root(s->q, l->x) == s->root && s->q->tensors[l->x].wanted;
}

/* A layer's weights: [outputs][inputs][taps]; `first`: place of its first input channel. */
typedef struct weight_walk {
    const void *data; /* float32 (ry_constant_at) */
    int64_t outputs, inputs, taps, first;
    bool depthwise;
} weight_walk;

static weight_walk walk_of(const sharing *s, size_t layer)
{
    const ry_net_node *node = node_of(s->q, s->q->layers[layer].node);
    ry_tensor w;
    takes_shares(s->q, node, &w);
    weight_walk walk = {.data = w.data,
                        .outputs = w.dim[0],
                        .inputs = w.dim[1],
                        .taps = 1,
                        .first = s->q->tensors[s->q->layers[layer].x].first_share};
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
            const double weight = (double)ry_constant_at(w.data, i);
            s->energy[w.first + c] += weight * weight;
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
                const int64_t first = (k * w.inputs + c) * w.taps;
                for (int64_t t = 0; t < w.taps; t++) {
                    const double weight = (double)ry_constant_at(w.data, first + t);
                    most = fmax(most, fabs(weight * (double)share[w.first + c]));
                }
                squares += (double)w.taps * s->channel[w.first + c].squares /
                           s->count[w.first + c] /
                           ((double)share[w.first + c] * (double)share[w.first + c]);
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

static void give_shares(sharing *s)
{
    ry_quant_tensor *root = &s->q->tensors[s->root];
    root->share = s->share;
    root->scale = (float)s->scale;
    root->zero = s->zero;
    for (int64_t c = 0; c < s->channels; c++) {
        s->share[c] = s->turned[c] ? -s->share[c] : s->share[c];
    }
    for (uint32_t t = 0; t < s->q->tensor_count; t++) {
        s->q->tensors[t].divides = s->q->tensors[t].divides || is_entry(s, t);
    }
}

/* on: every layer. */
static rynd_status share_root(ry_quantization *q, const bool *on, uint32_t root, double noise_part,
                              ry_error *error)
{
    sharing s = {.q = q, .root = root};
    bool *placed = RY_TAKE(q->arena, bool, q->tensor_count);
    RY_TRY(placed ? RYND_OK : ry_fail_memory(error));
    if (!q->tensors[root].histogram || !is_read_by_convolutions(&s) || !place_members(&s, placed)) {
        return RYND_OK;
    }
    s.channel = RY_TAKE(q->arena, ry_quant_channel, s.channels);
    s.count = RY_TAKE(q->arena, double, s.channels);
    s.energy = RY_TAKE(q->arena, double, s.channels);
    s.share = RY_TAKE(q->arena, float, s.channels);
    s.turned = RY_TAKE(q->arena, bool, s.channels);
    float *share = RY_TAKE(q->arena, float, s.channels);
    if (!s.channel || !s.count || !s.energy || !s.share || !s.turned || !share) {
        return ry_fail_memory(error);
    }
    join_channels(&s);
    if (may_turn(&s, on)) {
        turn_channels(&s);
    }
    add_energy(&s);
    const double without = plain_noise(&s, share), with = choose_shares(&s, share);
    if (with < noise_part * without) {
        give_shares(&s);
    }
    return RYND_OK;
}

const float *ry_quantize_shares(const ry_quantization *q, uint32_t tensor)
{
    const float *share = q->tensors[ry_quantize_root(q, tensor)].share;
    return share ? share + q->tensors[tensor].first_share : NULL;
}

rynd_status ry_quantize_choose_shares(ry_quantization *q, double noise_part, ry_error *error)
{
    bool *on = RY_TAKE(q->arena, bool, q->layer_count);
    RY_TRY(on ? RYND_OK : ry_fail_memory(error));
    memset(on, 1, q->layer_count * sizeof *on);
    for (uint32_t t = 0; t < q->tensor_count && !q->per_tensor; t++) {
        if (q->tensors[t].wanted && q->tensors[t].root == t) {
            RY_TRY(share_root(q, on, t, noise_part, error));
        }
    }
    return RYND_OK;
}
