/* SPDX-License-Identifier: Apache-2.0 */
/* Finds what can be quantised in a net. */
#include "quantize/quantize.h"

#include <string.h>

static bool is_matrix(const ry_net *net, const char *name)
{
    ry_tensor tensor;
    return ry_net_constant_of(net, name, &tensor) && tensor.dtype == RYND_DTYPE_F32 &&
           tensor.rank == 2;
}

static bool is_vector(const ry_net *net, const ry_net_node *node, int i)
{
    ry_tensor tensor;
    return i >= node->inputs || !*node->in[i] ||
           (ry_net_constant_of(net, node->in[i], &tensor) && tensor.dtype == RYND_DTYPE_F32 &&
            tensor.rank == 1);
}

static bool is_constant(const ry_net *net, const char *name)
{
    ry_tensor tensor;
    return ry_net_constant_of(net, name, &tensor);
}

static bool is_conv(const ry_net *net, const ry_net_node *node)
{
    ry_tensor w;
    return node->inputs >= 2 && ry_net_constant_of(net, node->in[1], &w) &&
           w.dtype == RYND_DTYPE_F32 && w.rank >= 3 && is_vector(net, node, 2);
}

/* With groups a scale would belong to several output channels. */
static bool is_transposed(const ry_net *net, const ry_net_node *node)
{
    return is_conv(net, node) && ry_net_number(node, "group", 1) == 1;
}

static bool is_gemm(const ry_net *net, const ry_net_node *node)
{
    return node->inputs >= 2 && is_matrix(net, node->in[1]) && is_vector(net, node, 2) &&
           ry_net_number(node, "transA", 0) == 0 && ry_net_number(node, "alpha", 1) == 1 &&
           ry_net_number(node, "beta", 1) == 1;
}

static bool is_matmul(const ry_net *net, const ry_net_node *node)
{
    return node->inputs == 2 && is_matrix(net, node->in[1]);
}

/* Both operands are computed and have the shape of the sum: nothing is broadcast. */
static bool is_residual(const ry_net *net, const ry_net_node *node)
{
    const ry_value *a = ry_net_value(net, node->in[0]), *b = ry_net_value(net, node->in[1]);
    return a && b && a->shape.rank > 2 && ry_shape_equal(&a->shape, &b->shape) &&
           !is_constant(net, node->in[0]) && !is_constant(net, node->in[1]);
}

static bool is_plain_pool(const ry_net *net, const ry_net_node *node)
{
    (void)net;
    return node->outputs == 1;
}

/* Cubic interpolation leaves the range of its input. */
static bool is_plain_resize(const ry_net *net, const ry_net_node *node)
{
    (void)net;
    return !ry_net_says(node, "mode", "cubic");
}

static bool always(const ry_net *net, const ry_net_node *node)
{
    (void)net;
    return node->outputs >= 1;
}

static const struct rule {
    const char *op;
    ry_quant_role role;
    bool (*is)(const ry_net *net, const ry_net_node *node);
} rules[] = {
    {"Conv", RY_QUANT_product, is_conv},
    {"Gemm", RY_QUANT_product, is_gemm},
    {"ConvTranspose", RY_QUANT_product, is_transposed},
    {"MatMul", RY_QUANT_product, is_matmul},
    {"Add", RY_QUANT_sum, is_residual},
    {"AveragePool", RY_QUANT_pool, always},
    {"GlobalAveragePool", RY_QUANT_pool, always},
    {"MaxPool", RY_QUANT_move, is_plain_pool},
    {"Concat", RY_QUANT_move, always},
    {"Resize", RY_QUANT_move, is_plain_resize},
    {"Reshape", RY_QUANT_move, always},
    {"Transpose", RY_QUANT_move, always},
    {"Flatten", RY_QUANT_move, always},
    {"Squeeze", RY_QUANT_move, always},
    {"Unsqueeze", RY_QUANT_move, always},
    {"Slice", RY_QUANT_move, always},
    {"Split", RY_QUANT_move, always},
    {"DepthToSpace", RY_QUANT_move, always},
    {"SpaceToDepth", RY_QUANT_move, always},
    {"Identity", RY_QUANT_move, always},
    {"Relu", RY_QUANT_bound, always},
    {"Clip", RY_QUANT_bound, always},
};

static ry_quant_role role_of(const ry_net *net, const ry_net_node *node)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules && !*node->domain; i++) {
        if (strcmp(rules[i].op, node->op) == 0 && node->inputs >= 1) {
            return rules[i].is(net, node) ? rules[i].role : RY_QUANT_other;
        }
    }
    return RY_QUANT_other;
}

uint32_t ry_quantize_tensor(const ry_quantization *q, const char *name)
{
    const uint32_t id = *name ? ry_names_find(&q->tensor_names, name) : RY_NO_NAME;
    return id == RY_NO_NAME ? RY_NO_INDEX : id;
}

uint32_t ry_quantize_root(const ry_quantization *q, uint32_t tensor)
{
    while (q->tensors[tensor].root != tensor) {
        tensor = q->tensors[tensor].root;
    }
    return tensor;
}

int ry_quantize_operands(const ry_quantization *q, uint32_t node)
{
    const ry_net_node *n = &q->net->nodes[node];
    return q->role[node] == RY_QUANT_other ? 0
           : q->role[node] == RY_QUANT_sum ? 2
           : strcmp(n->op, "Concat") == 0  ? n->inputs
                                           : 1;
}

static rynd_status add_tensor(ry_quantization *q, const char *name, uint32_t producer,
                              ry_error *error)
{
    const ry_value *value = *name ? ry_net_value(q->net, name) : NULL;
    if (!value || value->dtype != RY_f32 || is_constant(q->net, name) || value->shape.rank < 0) {
        return RYND_OK;
    }
    q->tensors = ry_arena_grow(q->arena, q->tensors, q->tensor_count, &q->tensor_capacity,
                               sizeof *q->tensors);
    const uint32_t id = (uint32_t)q->tensor_count;
    if (!q->tensors || !ry_names_add(&q->tensor_names, q->arena, name, id)) {
        return ry_fail_memory(error);
    }
    q->tensors[q->tensor_count++] = (ry_quant_tensor){
        .name = name, .producer = producer, .root = id, .bound = RY_NO_INDEX, .channel_axis = -1};
    return RYND_OK;
}

static rynd_status list_tensors(ry_quantization *q, ry_error *error)
{
    const ry_graph *graph = q->net->model->graph;
    for (size_t i = 0; i < graph->input_count; i++) {
        RY_TRY(add_tensor(q, graph->values[graph->inputs[i]].name, RY_NO_INDEX, error));
    }
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = &q->net->nodes[n];
        if (strcmp(node->op, "QuantizeLinear") == 0 || strcmp(node->op, "DequantizeLinear") == 0 ||
            strncmp(node->op, "QLinear", 7) == 0 || strcmp(node->op, "ConvInteger") == 0) {
            return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "node '%s' (%s): the model is quantised already; give the float32 model",
                           node->name, node->op);
        }
        for (int i = 0; i < node->outputs; i++) {
            RY_TRY(add_tensor(q, node->out[i], n, error));
        }
    }
    return RYND_OK;
}

/* A node whose operands are not all tensors stays in float32. */
static void check_operands(ry_quantization *q)
{
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = &q->net->nodes[n];
        q->role[n] = role_of(q->net, node);
        for (int i = 0; i < ry_quantize_operands(q, n); i++) {
            if (ry_quantize_tensor(q, node->in[i]) == RY_NO_INDEX) {
                q->role[n] = RY_QUANT_other;
            }
        }
        for (int i = 0; i < node->outputs; i++) {
            if (*node->out[i] && ry_quantize_tensor(q, node->out[i]) == RY_NO_INDEX) {
                q->role[n] = RY_QUANT_other;
            }
        }
        if (q->role[n] == RY_QUANT_bound) {
            q->tensors[ry_quantize_tensor(q, node->in[0])].bound = n;
        }
    }
}

static bool is_layer(ry_quant_role role)
{
    return role == RY_QUANT_product || role == RY_QUANT_sum || role == RY_QUANT_pool;
}

void ry_quantize_wants(const ry_quantization *q, const bool *on, bool *want, bool *bytes)
{
    const ry_net *net = q->net;
    memset(want, 0, q->tensor_count * sizeof *want);
    memset(bytes, 0, q->tensor_count * sizeof *bytes);
    for (uint32_t n = (uint32_t)net->node_count; n-- > 0;) {
        const ry_net_node *node = &net->nodes[n];
        bool wants =
            is_layer(q->role[n]) && q->layer_of_node[n] != RY_NO_INDEX && on[q->layer_of_node[n]];
        for (int i = 0; q->role[n] == RY_QUANT_move && i < node->outputs; i++) {
            wants = wants || (*node->out[i] && want[ry_quantize_tensor(q, node->out[i])]);
        }
        for (int i = 0; wants && i < ry_quantize_operands(q, n); i++) {
            want[ry_quantize_tensor(q, node->in[i])] = true;
        }
    }
    for (uint32_t n = 0; n < net->node_count; n++) {
        const ry_net_node *node = &net->nodes[n];
        bool gives =
            is_layer(q->role[n]) && q->layer_of_node[n] != RY_NO_INDEX && on[q->layer_of_node[n]];
        for (int i = 0; (q->role[n] == RY_QUANT_move || q->role[n] == RY_QUANT_bound) &&
                        i < ry_quantize_operands(q, n);
             i++) {
            gives = gives || bytes[ry_quantize_tensor(q, node->in[i])];
        }
        for (int i = 0; gives && i < node->outputs; i++) {
            if (*node->out[i]) {
                bytes[ry_quantize_tensor(q, node->out[i])] = true;
            }
        }
    }
}

uint32_t ry_quantize_end(const ry_quantization *q, uint32_t n)
{
    const uint32_t y = ry_quantize_tensor(q, q->net->nodes[n].out[0]), bound = q->tensors[y].bound;
    return bound == RY_NO_INDEX ? y : ry_quantize_tensor(q, q->net->nodes[bound].out[0]);
}

/* Is the output of a sum or average wanted, as it is or behind a bound? */
static bool is_output_wanted(const ry_quantization *q, const bool *want, uint32_t n)
{
    return want[ry_quantize_tensor(q, q->net->nodes[n].out[0])] || want[ry_quantize_end(q, n)];
}

static bool reads_bytes(const ry_quantization *q, const bool *bytes, uint32_t n)
{
    bool reads = false;
    for (int i = 0; i < ry_quantize_operands(q, n); i++) {
        reads = reads || bytes[ry_quantize_tensor(q, q->net->nodes[n].in[i])];
    }
    return reads;
}

/* Sums and averages are layers only between layers. Leaving one out may leave others out. */
static void drop_lonely(ry_quantization *q, bool *on, bool *want, bool *bytes)
{
    for (bool changed = true; changed;) {
        changed = false;
        ry_quantize_wants(q, on, want, bytes);
        for (uint32_t n = 0; n < q->net->node_count; n++) {
            const uint32_t layer = q->layer_of_node[n];
            if ((q->role[n] == RY_QUANT_sum || q->role[n] == RY_QUANT_pool) && on[layer] &&
                (!is_output_wanted(q, want, n) || !reads_bytes(q, bytes, n))) {
                on[layer] = false;
                changed = true;
            }
        }
    }
}

static int axis_of(const ry_net_node *node)
{
    return strcmp(node->op, "ConvTranspose") == 0  ? 1
           : strcmp(node->op, "Conv") == 0         ? 0
           : ry_net_number(node, "transB", 0) != 0 ? 0
                                                   : 1;
}

/* Numbers the layers that are on. */
static rynd_status list_layers(ry_quantization *q, const bool *on, ry_error *error)
{
    size_t count = 0;
    q->layers = RY_TAKE(q->arena, ry_quant_layer, q->layer_count);
    RY_TRY(q->layers ? RYND_OK : ry_fail_memory(error));
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const uint32_t old = q->layer_of_node[n];
        if (old == RY_NO_INDEX) {
            continue;
        }
        q->layer_of_node[n] = on[old] ? (uint32_t)count : RY_NO_INDEX;
        if (on[old]) {
            const ry_net_node *node = &q->net->nodes[n];
            const bool product = q->role[n] == RY_QUANT_product;
            ry_quant_layer *layer = &q->layers[count++];
            layer->node = n;
            layer->x = ry_quantize_tensor(q, node->in[0]);
            layer->axis = product ? axis_of(node) : -1;
        } else {
            q->role[n] = RY_QUANT_other;
        }
    }
    q->layer_count = count;
    return count ? RYND_OK
                 : ry_fail(error, RYND_ERROR_UNSUPPORTED,
                           "the model has no layer to quantise: no Conv, Gemm or MatMul of float32 "
                           "with constant weights");
}

/* Tensors of a node that only moves elements share a range. */
static void join_ranges(ry_quantization *q)
{
    for (uint32_t n = 0; n < q->net->node_count; n++) {
        const ry_net_node *node = &q->net->nodes[n];
        const bool moves = q->role[n] == RY_QUANT_move;
        const uint32_t root = moves ? ry_quantize_root(q, ry_quantize_tensor(q, node->in[0])) : 0;
        for (int i = 1; moves && i < ry_quantize_operands(q, n); i++) {
            q->tensors[ry_quantize_root(q, ry_quantize_tensor(q, node->in[i]))].root = root;
        }
        for (int i = 0; moves && i < node->outputs; i++) {
            const uint32_t t = ry_quantize_tensor(q, node->out[i]);
            if (t != RY_NO_INDEX && q->tensors[t].wanted) {
                q->tensors[ry_quantize_root(q, t)].root = root;
            }
        }
    }
}

/* Channels are observed for the bias of products, and for shares. */
static void find_channels(ry_quantization *q)
{
    for (size_t t = 0; t < q->tensor_count; t++) {
        q->tensors[t].channel_axis = q->tensors[t].wanted ? 1 : -1;
    }
    for (size_t i = 0; i < q->layer_count; i++) {
        const ry_quant_layer *layer = &q->layers[i];
        const ry_net_node *node = &q->net->nodes[layer->node];
        if (layer->axis >= 0) {
            q->tensors[layer->x].channel_axis = strcmp(node->op, "MatMul") == 0 ? INT8_MAX : 1;
        }
    }
}

rynd_status ry_quantize_analyse(const ry_net *net, ry_arena *arena, ry_quantization *q,
                                ry_error *error)
{
    const size_t nodes = net->node_count;
    q->net = net;
    q->arena = arena;
    q->role = RY_TAKE(arena, ry_quant_role, nodes);
    q->layer_of_node = RY_TAKE(arena, uint32_t, nodes);
    bool *on = RY_TAKE(arena, bool, nodes);
    if (!q->role || !q->layer_of_node || !on) {
        return ry_fail_memory(error);
    }
    RY_TRY(list_tensors(q, error));
    check_operands(q);
    for (uint32_t n = 0; n < nodes; n++) {
        q->layer_of_node[n] = is_layer(q->role[n]) ? (uint32_t)q->layer_count++ : RY_NO_INDEX;
        on[n] = true;
    }
    bool *want = RY_TAKE(arena, bool, q->tensor_count),
         *bytes = RY_TAKE(arena, bool, q->tensor_count);
    if (!want || !bytes) {
        return ry_fail_memory(error);
    }
    drop_lonely(q, on, want, bytes);
    RY_TRY(list_layers(q, on, error));
    memset(on, 1, q->layer_count * sizeof *on);
    ry_quantize_wants(q, on, want, bytes);
    for (size_t t = 0; t < q->tensor_count; t++) {
        q->tensors[t].wanted = want[t];
    }
    join_ranges(q);
    find_channels(q);
    return RYND_OK;
}
