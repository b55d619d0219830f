/* SPDX-License-Identifier: Apache-2.0 */
/* Tells how a model is quantised. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"

#include <string.h>

static const ry_node *producer_of(const ry_graph *graph, ry_value_id value)
{
    const ry_node_id n = value == RY_NO_VALUE ? RY_NO_NODE : graph->values[value].producer;
    return n == RY_NO_NODE ? NULL : &graph->nodes[n];
}

static bool is_source(const ry_node *node, const char *source)
{
    return node && node->source && strcmp(node->source, source) == 0;
}

static bool is_byte(const ry_graph *graph, ry_value_id value)
{
    const ry_dtype dtype = graph->values[value].dtype;
    return dtype == RY_i8 || dtype == RY_u8;
}

/* The value in integers that operand i of a layer is made from; RY_NO_VALUE: it is in float. */
static ry_value_id integers_of(const ry_graph *graph, const ry_node *layer, int i)
{
    const ry_node *node = producer_of(graph, layer->in[i]);
    const bool made = is_source(node, "DequantizeLinear") ||
                      (node && node->source && is_source(layer, node->source));
    return made && is_byte(graph, node->in[0]) ? node->in[0] : RY_NO_VALUE;
}

static const char *form_of(const ry_graph *graph, const ry_node *layer)
{
    return is_source(producer_of(graph, layer->in[1]), "DequantizeLinear") ? "QDQ"
           : strncmp(layer->source, "QLinear", 7) == 0                     ? "QOperator"
                                                                           : "integer";
}

static bool has_many(const ry_graph *graph, const ry_node *node, int i)
{
    return node && i < node->inputs && node->in[i] != RY_NO_VALUE &&
           ry_shape_elements(&graph->values[node->in[i]].shape) > 1;
}

/* The scale of the weights: of DequantizeLinear, or of the node that requantises the sums. */
static bool is_per_channel(const ry_graph *graph, const ry_node *layer)
{
    enum { WEIGHT_SCALE = 2 };
    const ry_node *weights = producer_of(graph, layer->in[1]);
    if (is_source(weights, "DequantizeLinear")) {
        return has_many(graph, weights, 1);
    }
    const ry_node *reader = layer + 1, *end = graph->nodes + graph->node_count;
    while (reader < end && (reader->inputs < 4 || reader->in[0] != layer->out[0])) {
        reader++;
    }
    return reader < end && is_source(reader, layer->source) &&
           has_many(graph, reader, WEIGHT_SCALE);
}

static void join_type(rynd_dtype *type, size_t before, ry_dtype dtype)
{
    *type = before == 0 || *type == (rynd_dtype)dtype ? (rynd_dtype)dtype : RYND_DTYPE_NONE;
}

static void add_layer(const ry_graph *graph, const ry_node *layer, rynd_quantization *info)
{
    info->layers++;
    const ry_value_id w = integers_of(graph, layer, 1), x = integers_of(graph, layer, 0);
    if (w == RY_NO_VALUE) {
        return;
    }
    const char *form = form_of(graph, layer);
    info->form = !*info->form || strcmp(info->form, form) == 0 ? form : "mixed";
    join_type(&info->weights, info->quantized, graph->values[w].dtype);
    join_type(&info->activations, info->quantized,
              x == RY_NO_VALUE ? RY_NONE : graph->values[x].dtype);
    info->quantized++;
    info->per_channel += is_per_channel(graph, layer);
}

rynd_status rynd_model_get_quantization(const rynd_model *model, rynd_quantization *info)
{
    RY_API_REQUIRE(model, info);
    ry_error error = {""};
    const ry_graph *graph = model->onnx.graph;
    rynd_quantization all = {.form = ""};
    for (ry_node_id n = 0; n < graph->node_count; n++) {
        const ry_node *node = &graph->nodes[n];
        if ((node->op == RY_OP_conv || node->op == RY_OP_convt || node->op == RY_OP_matmul) &&
            node->inputs > 1) {
            add_layer(graph, node, &all);
        }
    }
    return ry_api_end(ry_api_info(info, &all, sizeof all, "rynd_quantization", &error), &error);
}
