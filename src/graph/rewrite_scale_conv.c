/* SPDX-License-Identifier: Apache-2.0 */
/* What scales and shifts each output channel of a convolution by constants goes into its weights
 * and bias: BatchNormalization, and multiplications, divisions, additions and subtractions of a
 * constant per channel. For a matmul: the addition of a constant row becomes its `c`. */
#include "expr/expr.h"
#include "graph/derive.h"
#include "graph/rewrite.h"

#include <math.h>
#include <string.h>

/* y = conv * scale[k] + shift[k] */
typedef struct affine {
    double *scale, *shift;
    int64_t channels;
} affine;

typedef enum pointwise { MUL, DIV, ADD, SUB, POINTWISES } pointwise;

static const char *const pointwise_texts[POINTWISES] = {
    [MUL] = "x0 * x1", [DIV] = "x0 / x1", [ADD] = "x0 + x1", [SUB] = "x0 - x1"};

/* Weights may be anywhere in a file: elements are read as bytes. */
static bool readable(const ry_graph *graph, ry_value_id id)
{
    if (id == RY_NO_VALUE) {
        return false;
    }
    const ry_value *value = &graph->values[id];
    return value->constant && ry_dtype_is_float(value->dtype);
}

static double number(const ry_graph *graph, ry_value_id id, int64_t index)
{
    const ry_value *value = &graph->values[id];
    const size_t size = ry_dtype_size(value->dtype);
    uint64_t element;
    memcpy(&element, (const char *)value->constant + index * (int64_t)size, size);
    return ry_get_f64(value->dtype, &element, 0);
}

/* One number in all, or one for each index of dim 1 of a tensor of `rank`. */
static bool per_channel(const ry_graph *graph, ry_value_id id, int rank, int64_t channels)
{
    if (!readable(graph, id)) {
        return false;
    }
    const ry_shape *shape = &graph->values[id].shape;
    if (ry_shape_elements(shape) == 1) {
        return shape->rank <= rank;
    }
    return ry_shape_elements(shape) == channels && shape->rank <= rank && shape->rank >= rank - 1 &&
           shape->dim[shape->rank - rank + 1] == channels;
}

static bool from_batch_norm(const ry_graph *graph, const ry_node *node, affine *map)
{
    for (int i = 1; i < 5; i++) {
        if (!readable(graph, node->in[i]) ||
            ry_shape_elements(&graph->values[node->in[i]].shape) != map->channels) {
            return false;
        }
    }
    for (int64_t k = 0; k < map->channels; k++) {
        map->scale[k] = number(graph, node->in[1], k) /
                        sqrt(number(graph, node->in[4], k) + node->attrs.batch_norm.epsilon);
        map->shift[k] =
            number(graph, node->in[2], k) - number(graph, node->in[3], k) * map->scale[k];
    }
    return true;
}

static void set_affine(affine *map, int64_t k, pointwise kind, double c)
{
    map->scale[k] = kind == MUL ? c : kind == DIV ? 1 / c : 1;
    map->shift[k] = kind == ADD ? c : kind == SUB ? -c : 0;
}

/* `conv` says which of the node's two inputs is the convolution. */
static bool from_pointwise(const ry_graph *graph, const ry_node *node,
                           const ry_expr *const *programs, int conv, affine *map)
{
    const ry_value *y = &graph->values[node->in[conv]];
    ry_value_id constant = node->in[1 - conv];
    if (!per_channel(graph, constant, y->shape.rank, map->channels) ||
        !ry_shape_equal(&y->shape, &graph->values[node->out[0]].shape)) {
        return false;
    }
    for (int kind = 0; kind < POINTWISES; kind++) {
        bool commutes = kind == MUL || kind == ADD;
        if (!ry_rewrite_is_expr(node, programs[kind]) || (conv == 1 && !commutes)) {
            continue;
        }
        bool one = ry_shape_elements(&graph->values[constant].shape) == 1;
        for (int64_t k = 0; k < map->channels; k++) {
            set_affine(map, k, (pointwise)kind, number(graph, constant, one ? 0 : k));
        }
        return true;
    }
    return false;
}

/* The output channel of each weight: K is dim 0 of a convolution's, and dim 1 within each group of
 * a transposed one's. */
static int64_t channel_of_weight(const ry_node *conv, const ry_shape *w, int64_t outer,
                                 int64_t inner)
{
    if (conv->op == RY_OP_conv) {
        return outer;
    }
    int64_t group_inputs = w->dim[0] / conv->attrs.convt.groups;
    return outer / group_inputs * w->dim[1] + inner;
}

typedef struct scaling {
    ry_node_id conv;
    const double *scale;
} scaling;

static void fill_scaled(ry_graph *graph, const void *how, void *to)
{
    const scaling *s = how;
    const ry_node *conv = &graph->nodes[s->conv];
    const ry_value_id old = conv->in[1];
    const ry_shape shape = graph->values[old].shape;
    const ry_dtype dtype = graph->values[old].dtype;
    const void *from = graph->values[old].constant;
    int64_t taps = ry_shape_elements(&shape) / (shape.dim[0] * shape.dim[1]), i = 0;
    for (int64_t outer = 0; outer < shape.dim[0]; outer++) {
        for (int64_t inner = 0; inner < shape.dim[1]; inner++) {
            double scale = s->scale[channel_of_weight(conv, &shape, outer, inner)];
            float scale32 = (float)scale;
            for (int64_t t = 0; t < taps; t++, i++) {
                if (dtype == RY_f32) {
                    float weight; /* which is anywhere in a file */
                    memcpy(&weight, (const char *)from + i * (int64_t)sizeof weight, sizeof weight);
                    ((float *)to)[i] = weight * scale32;
                } else {
                    ry_set_f64(dtype, to, i, number(graph, old, i) * scale);
                }
            }
        }
    }
}

static rynd_status scale_weights(ry_graph *graph, ry_node_id conv_id, const affine *map,
                                 ry_error *error)
{
    const ry_node *conv = &graph->nodes[conv_id];
    const ry_value_id old = conv->in[1];
    const ry_shape shape = graph->values[old].shape;
    const scaling s = {conv_id, map->scale};
    /* groups of a transposed convolution follow from the weights' shape and the channels */
    const ry_recipe recipe = {.what = conv->op == RY_OP_conv ? "scale_conv" : "scale_convt",
                              .count = 1,
                              .from = &old,
                              .numbers = map->scale,
                              .numbers_size = (size_t)map->channels * sizeof *map->scale};
    const ry_value_id scaled =
        ry_graph_add_derived(graph, &recipe, graph->values[old].dtype, &shape, fill_scaled, &s);
    if (scaled == RY_NO_VALUE) {
        return ry_fail_memory(error);
    }
    ry_graph_set_input(graph, &graph->nodes[conv_id], 1, scaled);
    return RYND_OK;
}

/* One a channel, or as many as phases of a transposed convolution have each. */
static ry_shape bias_shape(const ry_graph *graph, const ry_node *conv, int64_t channels)
{
    const bool has = conv->inputs > 2 && conv->in[2] != RY_NO_VALUE;
    return has ? graph->values[conv->in[2]].shape : (ry_shape){.rank = 1, .dim = {channels}};
}

static rynd_status shift_bias(ry_graph *graph, ry_node_id conv_id, const affine *map,
                              ry_error *error)
{
    const ry_shape shape = bias_shape(graph, &graph->nodes[conv_id], map->channels);
    const int64_t count = ry_shape_elements(&shape);
    ry_dtype dtype = graph->values[graph->nodes[conv_id].in[0]].dtype;
    ry_value_id bias = ry_graph_add_constant(graph, NULL, dtype, &shape, NULL);
    if (bias == RY_NO_VALUE || !ry_rewrite_widen(graph, &graph->nodes[conv_id], 3)) {
        return ry_fail_memory(error);
    }
    ry_node *conv = &graph->nodes[conv_id];
    for (int64_t i = 0; i < count; i++) {
        const int64_t k = i / (count / map->channels);
        double old = conv->in[2] == RY_NO_VALUE ? 0 : number(graph, conv->in[2], i);
        ry_set_f64(dtype, ry_graph_constant_data(graph, bias), i,
                   old * map->scale[k] + map->shift[k]);
    }
    ry_graph_set_input(graph, conv, 2, bias);
    return RYND_OK;
}

/* A convolution that has nothing behind its sum yet, with constant weights and bias. */
static bool plain_conv(const ry_graph *graph, const ry_node *node)
{
    bool conv = node->op == RY_OP_conv && node->attrs.conv.activation == RY_activation_none &&
                node->attrs.conv.dir == RY_direction_fwd;
    bool convt = node->op == RY_OP_convt && node->attrs.convt.activation == RY_activation_none;
    return (conv || convt) && readable(graph, node->in[1]) &&
           (node->inputs < 3 || node->in[2] == RY_NO_VALUE || readable(graph, node->in[2])) &&
           (node->inputs < 4 || node->in[3] == RY_NO_VALUE);
}

static ry_node *conv_behind(const ry_graph *graph, ry_value_id id)
{
    ry_node *node = ry_rewrite_inner(graph, id, RY_OP_conv);
    node = node ? node : ry_rewrite_inner(graph, id, RY_OP_convt);
    return node && plain_conv(graph, node) ? node : NULL;
}

static bool only_ones(const affine *map)
{
    for (int64_t k = 0; k < map->channels; k++) {
        if (map->scale[k] != 1) {
            return false;
        }
    }
    return true;
}

static rynd_status absorb(ry_graph *graph, ry_node_id conv, ry_node_id node, const affine *map,
                          ry_error *error)
{
    if (!only_ones(map)) {
        RY_TRY(scale_weights(graph, conv, map, error));
    }
    RY_TRY(shift_bias(graph, conv, map, error));
    ry_value_id out = graph->nodes[node].out[0];
    ry_graph_remove_node(graph, node);
    graph->nodes[conv].out[0] = out;
    graph->values[out].producer = conv;
    return RYND_OK;
}

/* New weights, unless the old ones stay, and a new bias. */
static bool affords(ry_graph *graph, const ry_node *conv, const affine *map)
{
    const ry_value *w = &graph->values[conv->in[1]];
    const int64_t weights = only_ones(map) ? 0 : ry_shape_bytes(&w->shape, w->dtype);
    const ry_shape bias = bias_shape(graph, conv, map->channels);
    return ry_graph_spend(graph, weights + ry_shape_bytes(&bias, graph->values[conv->in[0]].dtype));
}

static rynd_status try_conv(ry_graph *graph, ry_node_id id, int input,
                            const ry_expr *const *programs, bool *done, ry_error *error)
{
    const ry_node *node = &graph->nodes[id], *conv = conv_behind(graph, node->in[input]);
    if (!conv) {
        return RYND_OK;
    }
    ry_arena scratch;
    ry_arena_init(&scratch, graph->arena.allocator);
    affine map = {.channels = graph->values[node->in[input]].shape.dim[1]};
    map.scale = RY_TAKE(&scratch, double, map.channels);
    map.shift = RY_TAKE(&scratch, double, map.channels);
    rynd_status status = map.scale && map.shift ? RYND_OK : ry_fail_memory(error);
    if (status == RYND_OK &&
        (node->op == RY_OP_batch_norm ? from_batch_norm(graph, node, &map)
                                      : from_pointwise(graph, node, programs, input, &map)) &&
        affords(graph, conv, &map)) {
        status = absorb(graph, (ry_node_id)(conv - graph->nodes), id, &map, error);
        *done = true;
    }
    ry_arena_free(&scratch);
    return status;
}

/* matmul(a, b) + row: the row becomes c. */
static rynd_status try_matmul(ry_graph *graph, ry_node_id id, int input, const ry_expr *add,
                              bool *done, ry_error *error)
{
    const ry_node *node = &graph->nodes[id];
    ry_node *matmul = ry_rewrite_inner(graph, node->in[input], RY_OP_matmul);
    ry_value_id row = node->in[1 - input];
    if (!matmul || !ry_rewrite_is_expr(node, add) || !readable(graph, row) ||
        (matmul->inputs > 2 && matmul->in[2] != RY_NO_VALUE) ||
        matmul->attrs.matmul.activation != RY_activation_none ||
        graph->values[row].dtype != graph->values[node->out[0]].dtype ||
        !ry_shape_equal(&graph->values[matmul->out[0]].shape, &graph->values[node->out[0]].shape)) {
        return RYND_OK;
    }
    if (!ry_rewrite_widen(graph, matmul, 3)) {
        return ry_fail_memory(error);
    }
    ry_graph_set_input(graph, matmul, 2, row);
    matmul->attrs.matmul.beta = 1;
    ry_value_id out = node->out[0];
    ry_graph_remove_node(graph, id);
    matmul->out[0] = out;
    graph->values[out].producer = (ry_node_id)(matmul - graph->nodes);
    *done = true;
    return RYND_OK;
}

rynd_status ry_rewrite_scale_conv(ry_graph *graph, bool *changed, ry_error *error)
{
    const ry_expr *programs[POINTWISES];
    for (int i = 0; i < POINTWISES; i++) {
        RY_TRY(ry_expr_parse(pointwise_texts[i], NULL, 0, &graph->arena, &programs[i], error));
    }
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        ry_op op = graph->nodes[n].op;
        bool pair = op == RY_OP_expr && graph->nodes[n].inputs == 2 && graph->nodes[n].outputs == 1;
        bool done = false;
        if (op == RY_OP_batch_norm && graph->nodes[n].attrs.batch_norm.spatial) {
            RY_TRY(try_conv(graph, n, 0, programs, &done, error));
        }
        for (int input = 0; pair && input < 2 && !done; input++) {
            RY_TRY(try_conv(graph, n, input, programs, &done, error));
            if (!done) {
                RY_TRY(try_matmul(graph, n, input, programs[ADD], &done, error));
            }
        }
        *changed |= done;
    }
    return RYND_OK;
}
