/* SPDX-License-Identifier: Apache-2.0 */
/* Finds convolutions before a depth_to_space, and joins them. */
#include "graph/shuffle_conv.h"

#include "graph/derive.h"
#include "graph/rewrite.h"

#include <string.h>

/* In a file they may be anywhere: elements are copied and compared as bytes. */
static bool is_constant(const ry_graph *graph, ry_value_id id)
{
    return graph->values[id].constant && ry_dtype_is_float(graph->values[id].dtype);
}

static bool has_input(const ry_node *node, int i)
{
    return i < node->inputs && node->in[i] != RY_NO_VALUE;
}

/* Constants, unit strides, no gaps in its window, and no more padding than the window reaches over.
 */
static bool is_plain(const ry_graph *graph, const ry_node *conv)
{
    const ry_conv_attrs *a = &conv->attrs.conv;
    const ry_shape *w = &graph->values[conv->in[1]].shape;
    bool plain = a->dir == RY_direction_fwd && a->auto_pad == RY_auto_pad_explicit &&
                 a->groups == 1 && !has_input(conv, 3) && is_constant(graph, conv->in[1]) &&
                 (!has_input(conv, 2) || is_constant(graph, conv->in[2]));
    for (int i = 0; plain && i < 2; i++) {
        plain = ry_ints_get(&a->stride, i, 1) == 1 &&
                (ry_ints_get(&a->dilation, i, 1) == 1 || w->dim[2 + i] == 1) &&
                ry_ints_get(&a->pads, i, 0) < w->dim[2 + i] &&
                ry_ints_get(&a->pads, 2 + i, 0) < w->dim[2 + i];
    }
    return plain;
}

/* The convolution's output channel that becomes position (i, j) of a block of channel k. */
static int64_t channel_of(const ry_depth_to_space_attrs *a, int64_t channels, int64_t k, int64_t i,
                          int64_t j)
{
    const int64_t r = a->block;
    return a->crd ? (k * r + i) * r + j : (i * r + j) * channels + k;
}

/* Has each of a block's positions the same bias? */
static bool phases_are_alike(const ry_graph *graph, const ry_node *conv,
                             const ry_depth_to_space_attrs *a, int64_t channels)
{
    const ry_value *bias = &graph->values[conv->in[2]];
    const size_t size = ry_dtype_size(bias->dtype);
    const char *data = bias->constant;
    for (int64_t p = 0; p < channels * a->block * a->block; p++) {
        const int64_t k = p / (a->block * a->block),
                      at = channel_of(a, channels, k, p / a->block % a->block, p % a->block);
        if (memcmp(data + at * (int64_t)size,
                   data + channel_of(a, channels, k, 0, 0) * (int64_t)size, size) != 0) {
            return false;
        }
    }
    return true;
}

bool ry_shuffle_conv_of(const ry_graph *graph, ry_node_id id, ry_shuffle_conv *pair)
{
    const ry_node *shuffle = &graph->nodes[id];
    const ry_node *conv = shuffle->op == RY_OP_depth_to_space
                              ? ry_rewrite_inner(graph, shuffle->in[0], RY_OP_conv)
                              : NULL;
    if (!conv || graph->values[shuffle->in[0]].shape.rank != 4 || !is_plain(graph, conv)) {
        return false;
    }
    const ry_conv_attrs *a = &conv->attrs.conv;
    const ry_shape *w = &graph->values[conv->in[1]].shape;
    const int64_t r = shuffle->attrs.depth_to_space.block, channels = w->dim[0] / (r * r);
    *pair = (ry_shuffle_conv){
        .conv = (ry_node_id)(conv - graph->nodes),
        .shuffle = id,
        .attrs = ry_attrs_default(RY_OP_convt),
        .weights = {.rank = 4, .dim = {w->dim[1], channels, r * w->dim[2], r * w->dim[3]}}};
    pair->attrs.convt = (ry_convt_attrs){.stride = {2, {r, r}},
                                         .dilation = {2, {1, 1}},
                                         .pads = {.count = 4},
                                         .output_padding = {2, {0, 0}},
                                         .groups = 1,
                                         .activation = a->activation,
                                         .act_alpha = a->act_alpha,
                                         .act_beta = a->act_beta};
    for (int i = 0; i < 4; i++) {
        pair->attrs.convt.pads.at[i] = r * (w->dim[2 + i % 2] - 1 - ry_ints_get(&a->pads, i, 0));
    }
    if (has_input(conv, 2)) {
        const bool alike = phases_are_alike(graph, conv, &shuffle->attrs.depth_to_space, channels);
        pair->bias = (ry_shape){.rank = alike ? 1 : 3, .dim = {channels, r, r}};
    }
    return true;
}

ry_node ry_shuffle_conv_node(const ry_graph *graph, const ry_shuffle_conv *pair, ry_value_id in[3])
{
    const ry_node *conv = &graph->nodes[pair->conv], *shuffle = &graph->nodes[pair->shuffle];
    in[0] = conv->in[0];
    in[1] = conv->in[1];
    in[2] = pair->bias.rank ? conv->in[2] : RY_NO_VALUE;
    return (ry_node){.op = RY_OP_convt,
                     .name = shuffle->name,
                     .source = shuffle->source,
                     .attrs = pair->attrs,
                     .inputs = pair->bias.rank ? 3 : 2,
                     .outputs = 1,
                     .in = in,
                     .out = shuffle->out};
}

/* How a constant changes: `from` and `to` are for another order only. */
typedef struct change {
    const ry_shuffle_conv *pair;
    ry_value_id old;
    const ry_depth_to_space_attrs *from, *to;
} change;

/* The weights and bias, each in the type that it had. */
static void fill_weights(ry_graph *graph, const void *how, void *to)
{
    const change *of = how;
    const ry_shuffle_conv *pair = of->pair;
    const ry_value *old = &graph->values[of->old];
    const ry_depth_to_space_attrs *a = &graph->nodes[pair->shuffle].attrs.depth_to_space;
    const ry_shape *w = &pair->weights;
    const int64_t r = a->block, rows = w->dim[2] / r, columns = w->dim[3] / r;
    const size_t size = ry_dtype_size(old->dtype);
    char *next = to;
    for (int64_t i = 0; i < ry_shape_elements(w); i++, next += size) {
        const int64_t x = i % w->dim[3], y = i / w->dim[3] % w->dim[2],
                      k = i / (w->dim[3] * w->dim[2]) % w->dim[1];
        const int64_t c = i / (w->dim[3] * w->dim[2] * w->dim[1]),
                      o = channel_of(a, w->dim[1], k, y % r, x % r);
        const int64_t from =
            ((o * w->dim[0] + c) * rows + rows - 1 - y / r) * columns + columns - 1 - x / r;
        memcpy(next, (const char *)old->constant + from * (int64_t)size, size);
    }
}

static void fill_bias(ry_graph *graph, const void *how, void *to)
{
    const change *c = how;
    const ry_shuffle_conv *pair = c->pair;
    const ry_value *old = &graph->values[c->old];
    const ry_depth_to_space_attrs *a = &graph->nodes[pair->shuffle].attrs.depth_to_space;
    const size_t size = ry_dtype_size(old->dtype);
    const int64_t phases = pair->bias.rank > 1 ? a->block * a->block : 1;
    for (int64_t i = 0; i < ry_shape_elements(&pair->bias); i++) {
        const int64_t p = i % phases, from = channel_of(a, pair->bias.dim[0], i / phases,
                                                        p / a->block, p % a->block);
        memcpy((char *)to + i * (int64_t)size, (const char *)old->constant + from * (int64_t)size,
               size);
    }
}

static bool add_constant(ry_graph *graph, const ry_shuffle_conv *pair, const ry_shape *shape,
                         ry_value_id *id, void (*fill)(ry_graph *, const void *, void *))
{
    const change c = {.pair = pair, .old = *id};
    const ry_depth_to_space_attrs *a = &graph->nodes[pair->shuffle].attrs.depth_to_space;
    const int64_t numbers[] = {a->block, a->crd};
    const ry_recipe recipe = {.what = "shuffle_conv",
                              .count = 1,
                              .from = &c.old,
                              .numbers = numbers,
                              .numbers_size = sizeof numbers};
    *id = ry_graph_add_derived(graph, &recipe, graph->values[c.old].dtype, shape, fill, &c);
    return *id != RY_NO_VALUE;
}

rynd_status ry_shuffle_conv_join(ry_graph *graph, const ry_shuffle_conv *pair, bool *joined,
                                 ry_error *error)
{
    ry_value_id old[3];
    const ry_node node = ry_shuffle_conv_node(graph, pair, old);
    if (!ry_graph_spend(graph, ry_shape_bytes(&pair->weights, graph->values[old[1]].dtype))) {
        return RYND_OK;
    }
    ry_value_id *in = RY_TAKE(&graph->arena, ry_value_id, 3);
    if (!in) {
        return ry_fail_memory(error);
    }
    memcpy(in, old, sizeof old);
    if (!add_constant(graph, pair, &pair->weights, &in[1], fill_weights) ||
        (node.inputs > 2 && !add_constant(graph, pair, &pair->bias, &in[2], fill_bias))) {
        return ry_fail_memory(error);
    }
    ry_node *made = &graph->nodes[pair->shuffle];
    made->op = RY_OP_convt;
    made->attrs = pair->attrs;
    ry_graph_remove_node(graph, pair->conv);
    ry_graph_set_inputs(graph, made, node.inputs, in);
    *joined = true;
    return RYND_OK;
}

/* The same constant with its output channels, which are dim 0, in the order of `to` instead of
 * `from`. */
static void reorder(ry_graph *graph, const void *how, void *data)
{
    const change *c = how;
    const ry_value *old = &graph->values[c->old];
    const ry_shape shape = old->shape;
    const int64_t r = c->to->block, channels = shape.dim[0] / (r * r),
                  size = ry_shape_bytes(&shape, old->dtype) / shape.dim[0];
    for (int64_t p = 0; p < shape.dim[0]; p++) {
        const int64_t k = p / (r * r), i = p / r % r, j = p % r;
        memcpy((char *)data + channel_of(c->to, channels, k, i, j) * size,
               (const char *)old->constant + channel_of(c->from, channels, k, i, j) * size,
               (size_t)size);
    }
}

static ry_value_id reordered(ry_graph *graph, ry_value_id id, const ry_depth_to_space_attrs *from,
                             const ry_depth_to_space_attrs *to)
{
    const change c = {.old = id, .from = from, .to = to};
    const ry_shape shape = graph->values[id].shape;
    const int64_t numbers[] = {to->block, from->crd, to->crd};
    const ry_recipe recipe = {.what = "shuffle_conv order",
                              .count = 1,
                              .from = &c.old,
                              .numbers = numbers,
                              .numbers_size = sizeof numbers};
    return ry_graph_add_derived(graph, &recipe, graph->values[id].dtype, &shape, reorder, &c);
}

rynd_status ry_shuffle_conv_reorder(ry_graph *graph, const ry_shuffle_conv *pair, bool crd,
                                    ry_error *error)
{
    const ry_depth_to_space_attrs from = graph->nodes[pair->shuffle].attrs.depth_to_space;
    ry_depth_to_space_attrs to = from;
    to.crd = crd;
    const ry_value *w = &graph->values[graph->nodes[pair->conv].in[1]];
    if (from.crd == to.crd || !ry_graph_spend(graph, ry_shape_bytes(&w->shape, w->dtype))) {
        return RYND_OK;
    }
    for (int i = 1; i <= (pair->bias.rank ? 2 : 1); i++) {
        const ry_value_id made = reordered(graph, graph->nodes[pair->conv].in[i], &from, &to);
        if (made == RY_NO_VALUE) {
            return ry_fail_memory(error);
        }
        ry_graph_set_input(graph, &graph->nodes[pair->conv], i, made);
    }
    graph->nodes[pair->shuffle].attrs.depth_to_space = to;
    return RYND_OK;
}
