/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a float16 net compute in float32; its inputs and outputs stay float16. */
#include "quantize/quantize.h"

#include <string.h>

enum { ONNX_FLOAT = 1, ONNX_FLOAT16 = 10 };

static bool is_half(const ry_net *net, const char *name)
{
    const ry_value *value = *name ? ry_net_value(net, name) : NULL;
    return value && value->dtype == RY_f16;
}

/* A constant in float32, under its name. */
static rynd_status widen_constant(ry_net *net, const char *name, ry_error *error)
{
    ry_tensor half;
    if (!is_half(net, name) || !ry_net_constant_of(net, name, &half) ||
        half.dtype != RYND_DTYPE_F16) {
        return RYND_OK;
    }
    const ry_shape shape = ry_tensor_shape(&half);
    const int64_t count = ry_tensor_count(&half);
    float *to = RY_TAKE(net->arena, float, count + 1);
    if (!to) {
        return ry_fail_memory(error);
    }
    for (int64_t i = 0; i < count; i++) {
        to[i] = (float)ry_get_f64(RY_f16, half.data, i);
    }
    const ry_tensor wide = ry_tensor_row_major(RY_f32, &shape, to);
    return ry_net_add_constant(net, name, &wide, error);
}

static rynd_status add_cast(ry_net *net, const char *from, const char *to, int64_t type,
                            ry_error *error)
{
    const char **out = RY_TAKE(net->arena, const char *, 1);
    RY_TRY(out ? RYND_OK : ry_fail_memory(error));
    *out = to;
    ry_net_node node = {.name = "", .op = "Cast", .domain = "", .outputs = 1, .out = out};
    RY_TRY(ry_net_set_inputs(net, &node, 1, &from, error));
    RY_TRY(ry_net_set_int(net, &node, "to", type, error));
    return ry_net_add_node(net, &node, error);
}

/* Another name for an input or output of the model inside; NULL: it keeps its own. */
static const char *inner_name(const ry_names *names, const char *const *inner, const char *name)
{
    const uint32_t id = *name ? ry_names_find(names, name) : RY_NO_NAME;
    return id == RY_NO_NAME ? NULL : inner[id];
}

static rynd_status rename(ry_net *net, ry_net_node *node, const ry_names *names,
                          const char *const *inner, ry_error *error)
{
    for (int i = 0; i < node->inputs; i++) {
        const char *other = inner_name(names, inner, node->in[i]);
        RY_TRY(other ? ry_net_set_input(net, node, i, other, error) : RYND_OK);
    }
    for (int i = 0; i < node->outputs; i++) {
        const char *other = inner_name(names, inner, node->out[i]);
        RY_TRY(other ? ry_net_set_output(net, node, i, other, error) : RYND_OK);
    }
    return RYND_OK;
}

static rynd_status widen_node(ry_net *net, ry_net_node *node, ry_error *error)
{
    if (strcmp(node->op, "Constant") == 0 && node->outputs == 1 && is_half(net, node->out[0])) {
        /* the initializer takes its place */
        const char *other = ry_net_name(net, node->out[0], "f16");
        return other ? ry_net_set_output(net, node, 0, other, error) : ry_fail_memory(error);
    }
    if (strcmp(node->op, "Cast") == 0 && ry_net_number(node, "to", 0) == ONNX_FLOAT16) {
        return ry_net_set_int(net, node, "to", ONNX_FLOAT, error);
    }
    return RYND_OK;
}

static bool has_halves(const ry_net *net)
{
    bool has = false;
    for (size_t n = 0; n < net->node_count; n++) {
        for (int i = 0; i < net->nodes[n].inputs; i++) {
            has = has || is_half(net, net->nodes[n].in[i]);
        }
    }
    return has;
}

/* Gives each float16 input and output a name inside, and adds the conversions of the inputs. */
static rynd_status name_inside(ry_net *net, ry_names *names, const char **inner, ry_error *error)
{
    const ry_graph *graph = net->model->graph;
    for (size_t i = 0; i < graph->input_count + graph->output_count; i++) {
        const bool input = i < graph->input_count;
        const ry_value *value =
            &graph->values[input ? graph->inputs[i] : graph->outputs[i - graph->input_count]];
        if (value->dtype != RY_f16 || value->constant) {
            continue;
        }
        inner[i] = ry_net_name(net, value->name, "f32");
        if (!inner[i] || !ry_names_add(names, net->arena, value->name, (uint32_t)i)) {
            return ry_fail_memory(error);
        }
        RY_TRY(input ? add_cast(net, value->name, inner[i], ONNX_FLOAT, error) : RYND_OK);
    }
    return RYND_OK;
}

rynd_status ry_quantize_widen(ry_net *net, ry_error *error)
{
    const ry_graph *graph = net->model->graph;
    const size_t values = graph->input_count + graph->output_count, count = net->node_count;
    const ry_net_node *nodes = net->nodes;
    const char **inner = RY_TAKE(net->arena, const char *, values);
    ry_names names = {0};
    if (!has_halves(net)) {
        return RYND_OK;
    }
    RY_TRY(inner ? RYND_OK : ry_fail_memory(error));
    net->nodes = NULL;
    net->node_count = net->node_capacity = 0;
    net->retyped = true;
    RY_TRY(name_inside(net, &names, inner, error));
    for (size_t n = 0; n < count; n++) {
        ry_net_node node = nodes[n];
        for (int i = 0; i < node.inputs; i++) {
            RY_TRY(widen_constant(net, node.in[i], error));
        }
        RY_TRY(widen_node(net, &node, error));
        RY_TRY(rename(net, &node, &names, inner, error));
        RY_TRY(ry_net_add_node(net, &node, error));
    }
    for (size_t i = 0; i < graph->output_count; i++) {
        const char *name = graph->values[graph->outputs[i]].name;
        const char *inside = inner_name(&names, inner, name);
        RY_TRY(inside ? add_cast(net, inside, name, ONNX_FLOAT16, error) : RYND_OK);
    }
    return RYND_OK;
}
