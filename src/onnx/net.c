/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the nodes of a model's file, and changes them. */
#include "onnx/net.h"

#include "onnx/proto.h"
#include "onnx/wire.h"

#include <onnx.pb.h>
#include <string.h>

enum { INPUT = 1, OUTPUT = 2, NAME = 3, OP_TYPE = 4, ATTRIBUTE = 5, DOMAIN = 7 }; /* NodeProto */

static rynd_status damaged(ry_error *error)
{
    return ry_fail(error, RYND_ERROR_FORMAT,
                   "damaged: a message of the model's file cannot be read again; did the file "
                   "change since it was loaded?");
}

static ry_reader reader_of(const ry_net *net, ry_error *error)
{
    return (ry_reader){
        .source = {.bytes = {net->model->bytes, net->model->byte_count}, .arena = net->arena},
        .allocator = net->arena->allocator,
        .error = error};
}

/* Counts the fields of a node that are lists, so that they need no growing. */
static bool count_fields(ry_slice bytes, ry_net_node *node)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        const bool message = field.wire == RY_WIRE_BYTES;
        node->inputs += message && field.number == INPUT;
        node->outputs += message && field.number == OUTPUT;
        node->attributes += message && field.number == ATTRIBUTE;
    }
    return !bad;
}

static bool is_graph(ry_slice attribute)
{
    enum { GRAPH = 6, GRAPHS = 11 };
    ry_wire_field field;
    bool bad = false, is = false;
    while (ry_wire_next(&attribute, &field, &bad)) {
        is = is ||
             (field.wire == RY_WIRE_BYTES && (field.number == GRAPH || field.number == GRAPHS));
    }
    return is;
}

static const char *text_of(ry_net *net, ry_slice bytes)
{
    return ry_arena_string(net->arena, (const char *)bytes.data, bytes.size);
}

/* Takes a field of the node over; false: out of memory. */
static bool take_field(ry_net *net, const ry_wire_field *field, ry_net_node *node)
{
    const char **to = field->number == INPUT     ? &node->in[node->inputs++]
                      : field->number == OUTPUT  ? &node->out[node->outputs++]
                      : field->number == NAME    ? &node->name
                      : field->number == OP_TYPE ? &node->op
                      : field->number == DOMAIN  ? &node->domain
                                                 : NULL;
    if (to) {
        *to = text_of(net, field->bytes);
        return *to != NULL;
    }
    if (field->number == ATTRIBUTE) {
        node->attribute[node->attributes++] = field->bytes;
        node->graphs = node->graphs || is_graph(field->bytes);
    }
    return true;
}

static rynd_status read_node(ry_net *net, ry_slice bytes, ry_error *error)
{
    ry_net_node node = {.name = "", .op = "", .domain = ""};
    ry_wire_field field;
    bool bad = false, good = true;
    if (!count_fields(bytes, &node)) {
        return damaged(error);
    }
    node.in = RY_TAKE(net->arena, const char *, node.inputs);
    node.out = RY_TAKE(net->arena, const char *, node.outputs);
    node.attribute = RY_TAKE(net->arena, ry_slice, node.attributes);
    if (!node.in || !node.out || !node.attribute) {
        return ry_fail_memory(error);
    }
    node.inputs = node.outputs = node.attributes = 0;
    while (good && ry_wire_next(&bytes, &field, &bad)) {
        good = field.wire != RY_WIRE_BYTES || take_field(net, &field, &node);
    }
    if (!good) {
        return ry_fail_memory(error);
    }
    if (strcmp(node.domain, "ai.onnx") == 0) {
        node.domain = "";
    }
    return bad ? damaged(error) : ry_net_add_node(net, &node, error);
}

static rynd_status read_graph(ry_net *net, ry_slice bytes, ry_error *error)
{
    enum { GRAPH_NODE = 1 };
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number == GRAPH_NODE && field.wire == RY_WIRE_BYTES) {
            RY_TRY(read_node(net, field.bytes, error));
        }
    }
    return bad ? damaged(error) : RYND_OK;
}

rynd_status ry_net_read(const ry_onnx_model *model, ry_arena *arena, ry_net *net, ry_error *error)
{
    ry_onnx_ModelProto proto;
    *net = (ry_net){.model = model, .arena = arena, .opset = model->opset};
    if (!model->bytes) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "a part of a model has no file; use the model that it was made from");
    }
    ry_reader reader = reader_of(net, error);
    RY_TRY(RY_READER_DECODE(&reader, ModelProto, reader.source.bytes, &proto));
    if (proto.functions.count) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "the model has %zu functions of its own; inline them first (Python: "
                       "onnx.inliner.inline_local_functions)",
                       proto.functions.count);
    }
    return read_graph(net, proto.graph, error);
}

rynd_status ry_net_copy(const ry_net *net, ry_arena *arena, ry_net *copy, ry_error *error)
{
    *copy = *net;
    copy->arena = arena;
    copy->nodes = NULL;
    copy->constants = NULL;
    copy->constant_names = (ry_names){0};
    copy->node_count = copy->node_capacity = copy->constant_count = copy->constant_capacity = 0;
    for (size_t i = 0; i < net->node_count; i++) {
        RY_TRY(ry_net_add_node(copy, &net->nodes[i], error));
    }
    for (size_t i = 0; i < net->constant_count; i++) {
        RY_TRY(ry_net_add_constant(copy, net->constants[i].name, &net->constants[i].tensor, error));
    }
    return RYND_OK;
}

const ry_value *ry_net_value(const ry_net *net, const char *name)
{
    const ry_value_id id = *name ? ry_graph_find(net->model->graph, name) : RY_NO_VALUE;
    return id == RY_NO_VALUE ? NULL : &net->model->graph->values[id];
}

bool ry_net_is_output(const ry_net *net, const char *name)
{
    const ry_value_id id = *name ? ry_graph_find(net->model->graph, name) : RY_NO_VALUE;
    return id != RY_NO_VALUE && ry_graph_is_output(net->model->graph, id);
}

static bool keeps_content(const ry_node *node)
{
    return node->op == RY_OP_identity || node->op == RY_OP_reshape || node->op == RY_OP_flatten ||
           node->op == RY_OP_squeeze || node->op == RY_OP_unsqueeze;
}

bool ry_net_constant_of(const ry_net *net, const char *name, ry_tensor *tensor)
{
    const uint32_t own = ry_names_find(&net->constant_names, name);
    if (own != RY_NO_NAME) {
        *tensor = net->constants[own].tensor;
        return true;
    }
    const ry_graph *graph = net->model->graph;
    const ry_value *first = ry_net_value(net, name), *value = first;
    while (value && !value->constant && value->producer != RY_NO_NODE &&
           keeps_content(&graph->nodes[value->producer])) {
        value = &graph->values[graph->nodes[value->producer].in[0]];
    }
    if (!value || !value->constant ||
        ry_shape_elements(&first->shape) != ry_shape_elements(&value->shape)) {
        return false;
    }
    *tensor = ry_tensor_row_major(value->dtype, &first->shape, (void *)value->constant);
    return true;
}

rynd_status ry_net_set_inputs(ry_net *net, ry_net_node *node, int count, const char *const *in,
                              ry_error *error)
{
    const char **list = RY_TAKE(net->arena, const char *, count);
    if (!list) {
        return ry_fail_memory(error);
    }
    for (int i = 0; i < count; i++) {
        list[i] = in[i];
    }
    node->in = list;
    node->inputs = count;
    return RYND_OK;
}

rynd_status ry_net_set_input(ry_net *net, ry_net_node *node, int i, const char *name,
                             ry_error *error)
{
    const int count = i < node->inputs ? node->inputs : i + 1;
    const char **list = RY_TAKE(net->arena, const char *, count);
    if (!list) {
        return ry_fail_memory(error);
    }
    for (int n = 0; n < count; n++) {
        list[n] = n < node->inputs ? node->in[n] : "";
    }
    list[i] = name;
    node->in = list;
    node->inputs = count;
    return RYND_OK;
}

rynd_status ry_net_set_output(ry_net *net, ry_net_node *node, int i, const char *name,
                              ry_error *error)
{
    const char **list = RY_TAKE(net->arena, const char *, node->outputs);
    if (!list) {
        return ry_fail_memory(error);
    }
    memcpy(list, node->out, (size_t)node->outputs * sizeof *list);
    list[i] = name;
    node->out = list;
    return RYND_OK;
}

rynd_status ry_net_add_node(ry_net *net, const ry_net_node *node, ry_error *error)
{
    net->nodes = ry_arena_grow(net->arena, net->nodes, net->node_count, &net->node_capacity,
                               sizeof *net->nodes);
    if (!net->nodes) {
        return ry_fail_memory(error);
    }
    net->nodes[net->node_count++] = *node;
    return RYND_OK;
}

rynd_status ry_net_add_constant(ry_net *net, const char *name, const ry_tensor *tensor,
                                ry_error *error)
{
    const uint32_t old = ry_names_find(&net->constant_names, name);
    if (old != RY_NO_NAME) {
        net->constants[old].tensor = *tensor;
        return RYND_OK;
    }
    net->constants = ry_arena_grow(net->arena, net->constants, net->constant_count,
                                   &net->constant_capacity, sizeof *net->constants);
    if (!net->constants ||
        !ry_names_add(&net->constant_names, net->arena, name, (uint32_t)net->constant_count)) {
        return ry_fail_memory(error);
    }
    net->constants[net->constant_count++] = (ry_net_constant){name, *tensor};
    return RYND_OK;
}

const char *ry_net_name(const ry_net *net, const char *name, const char *suffix)
{
    const char *made = ry_arena_format(net->arena, "%s/%s", name, suffix);
    while (made &&
           (ry_net_value(net, made) || ry_names_find(&net->constant_names, made) != RY_NO_NAME)) {
        made = ry_arena_format(net->arena, "%s_", made);
    }
    return made;
}
