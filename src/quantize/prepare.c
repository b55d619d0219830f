/* SPDX-License-Identifier: Apache-2.0 */
/* Changes weights of a float32 net before it is quantised. */
#include "quantize/quantize.h"

#include <math.h>
#include <string.h>

/* How often values are read: by nodes, and as outputs; and by which node last. */
typedef struct readers {
    ry_names names;
    uint32_t *count, *node;
} readers;

static rynd_status count_readers(const ry_net *net, ry_arena *arena, readers *r, ry_error *error)
{
    size_t most = 0, used = 0;
    for (size_t n = 0; n < net->node_count; n++) {
        most += (size_t)net->nodes[n].inputs;
    }
    *r = (readers){.count = RY_TAKE(arena, uint32_t, most), .node = RY_TAKE(arena, uint32_t, most)};
    if (!r->count || !r->node) {
        return ry_fail_memory(error);
    }
    for (uint32_t n = 0; n < net->node_count; n++) {
        for (int i = 0; i < net->nodes[n].inputs; i++) {
            const char *name = net->nodes[n].in[i];
            uint32_t id = ry_names_find(&r->names, name);
            if (id == RY_NO_NAME) {
                id = (uint32_t)used++;
                if (!ry_names_add(&r->names, arena, name, id)) {
                    return ry_fail_memory(error);
                }
            }
            r->count[id]++;
            r->node[id] = n;
        }
    }
    return RYND_OK;
}

/* Finds the only reader of a value that is not an output; RY_NO_INDEX: several, or an output. */
static uint32_t sole_reader(const ry_net *net, const readers *r, const char *name)
{
    const uint32_t id = ry_names_find(&r->names, name);
    return id == RY_NO_NAME || r->count[id] != 1 || ry_net_is_output(net, name) ? RY_NO_INDEX
                                                                                : r->node[id];
}

static bool is_op(const ry_net_node *node, const char *op)
{
    return !*node->domain && strcmp(node->op, op) == 0;
}

/* Constants that a node may be given in the place of its own ones. */
typedef struct weights {
    ry_tensor w, b;
    float *data, *bias;
    int64_t channels, step; /* output channels; weights of each */
} weights;

/* Copies the weights of a convolution, and its bias or zeros. */
static rynd_status copy_weights(ry_net *net, const ry_net_node *node, weights *to, ry_error *error)
{
    ry_tensor bias = {0};
    ry_net_constant_of(net, node->in[1], &to->w);
    to->channels = to->w.dim[0];
    const int64_t count = ry_tensor_count(&to->w);
    const ry_shape vector = {.rank = 1, .dim = {to->channels}};
    to->step = to->channels ? count / to->channels : 0;
    to->data = RY_TAKE(net->arena, float, count + 1);
    to->bias = RY_TAKE(net->arena, float, to->channels + 1);
    if (!to->data || !to->bias) {
        return ry_fail_memory(error);
    }
    memcpy(to->data, to->w.data, (size_t)count * sizeof *to->data);
    if (node->inputs > 2 && *node->in[2] && ry_net_constant_of(net, node->in[2], &bias)) {
        memcpy(to->bias, bias.data, (size_t)to->channels * sizeof *to->bias);
    }
    to->w.data = to->data;
    to->b = ry_tensor_row_major(RY_f32, &vector, to->bias);
    return RYND_OK;
}

/* Gives a node weights and bias of its own; others may read the old ones. */
static rynd_status give_weights(ry_net *net, ry_net_node *node, const weights *own, ry_error *error)
{
    const char *w = ry_net_name(net, node->out[0], "weights"),
               *b = ry_net_name(net, node->out[0], "bias");
    if (!w || !b) {
        return ry_fail_memory(error);
    }
    RY_TRY(ry_net_add_constant(net, w, &own->w, error));
    RY_TRY(ry_net_add_constant(net, b, &own->b, error));
    RY_TRY(ry_net_set_input(net, node, 1, w, error));
    return ry_net_set_input(net, node, 2, b, error);
}

static bool is_float_conv(const ry_net *net, const ry_net_node *node)
{
    ry_tensor w, b;
    const bool has_bias = node->inputs > 2 && *node->in[2];
    return is_op(node, "Conv") && node->inputs >= 2 && ry_net_constant_of(net, node->in[1], &w) &&
           w.dtype == RYND_DTYPE_F32 && w.rank >= 3 &&
           (!has_bias || (ry_net_constant_of(net, node->in[2], &b) && b.dtype == RYND_DTYPE_F32));
}

/* Scale, bias, mean and variance of a normalisation of `channels`; false: they are others. */
static bool read_norm(const ry_net *net, const ry_net_node *norm, int64_t channels,
                      const float *vectors[4])
{
    bool good = is_op(norm, "BatchNormalization") && norm->inputs == 5 && norm->outputs == 1 &&
                ry_net_number(norm, "training_mode", 0) == 0;
    for (int i = 0; good && i < 4; i++) {
        ry_tensor tensor;
        good = ry_net_constant_of(net, norm->in[i + 1], &tensor) &&
               tensor.dtype == RYND_DTYPE_F32 && ry_tensor_count(&tensor) == channels;
        vectors[i] = good ? tensor.data : NULL;
    }
    return good;
}

rynd_status ry_quantize_fold_norms(ry_net *net, ry_error *error)
{
    enum { SCALE, BIAS, MEAN, VARIANCE };
    readers r;
    RY_TRY(count_readers(net, net->arena, &r, error));
    for (size_t n = 0; n < net->node_count; n++) {
        ry_net_node *conv = &net->nodes[n];
        const uint32_t next =
            is_float_conv(net, conv) ? sole_reader(net, &r, conv->out[0]) : RY_NO_INDEX;
        const float *v[4];
        ry_tensor w;
        if (next == RY_NO_INDEX || !ry_net_constant_of(net, conv->in[1], &w) ||
            !read_norm(net, &net->nodes[next], w.dim[0], v)) {
            continue;
        }
        ry_net_node *norm = &net->nodes[next];
        const double epsilon = ry_net_number(norm, "epsilon", 1e-5);
        weights own;
        RY_TRY(copy_weights(net, conv, &own, error));
        for (int64_t c = 0; c < own.channels; c++) {
            const double factor = (double)v[SCALE][c] / sqrt((double)v[VARIANCE][c] + epsilon);
            for (int64_t i = 0; i < own.step; i++) {
                own.data[c * own.step + i] = (float)((double)own.data[c * own.step + i] * factor);
            }
            own.bias[c] =
                (float)((double)v[BIAS][c] + ((double)own.bias[c] - (double)v[MEAN][c]) * factor);
        }
        RY_TRY(give_weights(net, conv, &own, error));
        /* the convolution gives the norm's output now; the norm, read by nobody, is not written */
        const char *old = conv->out[0], *output = norm->out[0];
        RY_TRY(ry_net_set_output(net, conv, 0, output, error));
        RY_TRY(ry_net_set_output(net, norm, 0, old, error));
        RY_TRY(ry_net_set_input(net, norm, 0, output, error));
    }
    return RYND_OK;
}

/* Two convolutions with nothing between them but a function that scales with its argument. */
typedef struct neighbours {
    ry_net_node *first, *second;
    bool depthwise; /* the second one */
} neighbours;

static bool find_neighbours(const ry_net *net, const readers *r, uint32_t n, neighbours *pair)
{
    *pair = (neighbours){.first = &net->nodes[n]};
    if (!is_float_conv(net, pair->first)) {
        return false;
    }
    uint32_t next = sole_reader(net, r, pair->first->out[0]);
    if (next != RY_NO_INDEX &&
        (is_op(&net->nodes[next], "Relu") || is_op(&net->nodes[next], "LeakyRelu"))) {
        next = sole_reader(net, r, net->nodes[next].out[0]);
    }
    ry_tensor a, b;
    if (next == RY_NO_INDEX || !is_float_conv(net, &net->nodes[next])) {
        return false;
    }
    pair->second = &net->nodes[next];
    ry_net_constant_of(net, pair->first->in[1], &a);
    ry_net_constant_of(net, pair->second->in[1], &b);
    const double groups = ry_net_number(pair->second, "group", 1);
    pair->depthwise = groups == (double)a.dim[0] && b.dim[0] == a.dim[0] && b.dim[1] == 1;
    return pair->depthwise || (groups == 1 && b.dim[1] == a.dim[0]);
}

/* Largest weight that reads input channel c of the second convolution, or scales all of them. */
static float input_channel(const weights *w, bool depthwise, int64_t c, float scale)
{
    const int64_t outputs = depthwise ? 1 : w->channels;
    const int64_t inner = depthwise ? w->step : w->step / w->w.dim[1];
    float most = 0;
    for (int64_t o = 0; o < outputs; o++) {
        float *row = w->data + (depthwise ? c * w->step : o * w->step + c * inner);
        for (int64_t i = 0; i < inner; i++) {
            row[i] *= scale;
            most = fabsf(row[i]) > most ? fabsf(row[i]) : most;
        }
    }
    return most;
}

static rynd_status equalise_pair(ry_net *net, const neighbours *pair, ry_error *error)
{
    weights a, b;
    RY_TRY(copy_weights(net, pair->first, &a, error));
    RY_TRY(copy_weights(net, pair->second, &b, error));
    for (int64_t c = 0; c < a.channels; c++) {
        float most = 0;
        for (int64_t i = 0; i < a.step; i++) {
            most = fmaxf(most, fabsf(a.data[c * a.step + i]));
        }
        const float other = input_channel(&b, pair->depthwise, c, 1);
        const float scale = most > 0 && other > 0 ? sqrtf(most / other) : 1;
        if (!(scale > 1e-6f && scale < 1e6f)) {
            continue; /* a channel that hardly exists */
        }
        for (int64_t i = 0; i < a.step; i++) {
            a.data[c * a.step + i] /= scale;
        }
        a.bias[c] /= scale;
        input_channel(&b, pair->depthwise, c, scale);
    }
    RY_TRY(give_weights(net, pair->first, &a, error));
    return give_weights(net, pair->second, &b, error);
}

rynd_status ry_quantize_equalise(ry_net *net, ry_error *error)
{
    enum { SWEEPS = 3 }; /* a layer between two others is balanced against both */
    readers r;
    RY_TRY(count_readers(net, net->arena, &r, error));
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        for (uint32_t n = 0; n < net->node_count; n++) {
            neighbours pair;
            if (find_neighbours(net, &r, n, &pair)) {
                RY_TRY(equalise_pair(net, &pair, error));
            }
        }
    }
    return RYND_OK;
}
