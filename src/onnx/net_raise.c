/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes of old opsets in the words of newer ones, up to 13. */
#include "onnx/net_attributes.h"
#include "onnx/operators.h"

#include <float.h>
#include <inttypes.h>
#include <string.h>

typedef struct raising {
    ry_net *net;
    ry_net_node *node;
    int64_t from;
    ry_error *error;
} raising;

typedef rynd_status convert_function(raising *r);

static rynd_status refuse(const raising *r, const char *why)
{
    return ry_fail(r->error, RYND_ERROR_UNSUPPORTED,
                   "node '%s' (%s): it cannot be written in a newer opset: %s. Convert the model "
                   "first (Python: onnx.version_converter)",
                   *r->node->name ? r->node->name : r->node->out[0], r->node->op, why);
}

/* A constant of the arena as the node's input i. */
static rynd_status set_constant(raising *r, int i, const char *suffix, ry_dtype dtype, int rank,
                                int64_t count, void **data)
{
    const ry_shape shape = {.rank = rank, .dim = {count}};
    const char *name = ry_net_name(r->net, r->node->out[0], suffix);
    *data = ry_arena_take(r->net->arena, (size_t)(count > 0 ? count : 1), ry_dtype_size(dtype));
    if (!name || !*data) {
        return ry_fail_memory(r->error);
    }
    const ry_tensor tensor = ry_tensor_row_major(dtype, &shape, *data);
    RY_TRY(ry_net_add_constant(r->net, name, &tensor, r->error));
    return ry_net_set_input(r->net, r->node, i, name, r->error);
}

/* An attribute of integers becomes input i; *found: the node has it. */
static rynd_status ints_to_input(raising *r, const char *name, int i, bool *found)
{
    ry_attribute_record record;
    bool bad = false;
    RY_TRY(ry_net_attribute(r->net, r->node, name, &record, found, r->error));
    if (!*found) {
        return RYND_OK;
    }
    void *data;
    uint64_t number;
    const size_t count = ry_packed_count_varints(record.numbers);
    RY_TRY(set_constant(r, i, name, RY_i64, 1, (int64_t)count, &data));
    for (size_t k = 0; k < count && ry_packed_varint(&record.numbers, &number, &bad); k++) {
        ((int64_t *)data)[k] = (int64_t)number;
    }
    ry_net_drop_attribute(r->node, name);
    return RYND_OK;
}

static rynd_status number_to_input(raising *r, const char *name, int i)
{
    ry_attribute_record record;
    void *data;
    bool found;
    RY_TRY(ry_net_attribute(r->net, r->node, name, &record, &found, r->error));
    if (!found) {
        return RYND_OK;
    }
    RY_TRY(set_constant(r, i, name, RY_f32, 0, 1, &data));
    *(float *)data = record.f;
    ry_net_drop_attribute(r->node, name);
    return RYND_OK;
}

static rynd_status axes(raising *r)
{
    bool found;
    return ints_to_input(r, "axes", 1, &found);
}

static rynd_status split(raising *r)
{
    bool found;
    return r->node->inputs > 1 ? RYND_OK : ints_to_input(r, "split", 1, &found);
}

static rynd_status slice(raising *r)
{
    bool found;
    RY_TRY(ints_to_input(r, "starts", 1, &found));
    RY_TRY(ints_to_input(r, "ends", 2, &found));
    return ints_to_input(r, "axes", 3, &found);
}

static rynd_status pad(raising *r)
{
    bool found;
    RY_TRY(ints_to_input(r, "pads", 1, &found));
    return found ? number_to_input(r, "value", 2) : refuse(r, "it has no attribute 'pads'");
}

static rynd_status clip(raising *r)
{
    RY_TRY(number_to_input(r, "min", 1));
    return number_to_input(r, "max", 2);
}

static rynd_status top_k(raising *r)
{
    void *data;
    RY_TRY(set_constant(r, 1, "k", RY_i64, 1, 1, &data));
    *(int64_t *)data = (int64_t)ry_net_number(r->node, "k", 1);
    ry_net_drop_attribute(r->node, "k");
    return RYND_OK;
}

/* In inference a Dropout gives its input. */
static rynd_status dropout(raising *r)
{
    ry_net_drop_attribute(r->node, "ratio");
    ry_net_drop_attribute(r->node, "is_test");
    return RYND_OK;
}

static rynd_status batch_norm(raising *r)
{
    if (ry_net_number(r->node, "spatial", 1) != 1 || r->node->outputs > 1) {
        return refuse(r, "it is not the form of inference");
    }
    ry_net_drop_attribute(r->node, "spatial");
    ry_net_drop_attribute(r->node, "is_test");
    return RYND_OK;
}

static rynd_status scatter(raising *r)
{
    r->node->op = "ScatterElements";
    return RYND_OK;
}

/* Below opset 7 a second operand of lower rank needs an attribute to be broadcast. */
static rynd_status old_binary(raising *r)
{
    const ry_value *a = ry_net_value(r->net, r->node->in[0]),
                   *b = ry_net_value(r->net, r->node->in[1]);
    const double axis = ry_net_number(r->node, "axis", INT32_MAX);
    if (axis != INT32_MAX &&
        (!a || !b || a->shape.rank < 0 || axis != a->shape.rank - b->shape.rank)) {
        return refuse(r, "its attribute 'axis' broadcasts along leading dims");
    }
    ry_net_drop_attribute(r->node, "axis");
    ry_net_drop_attribute(r->node, "broadcast");
    return RYND_OK;
}

static rynd_status gemm(raising *r)
{
    ry_net_drop_attribute(r->node, "broadcast");
    return RYND_OK;
}

/* Below opset 13 all dims from the axis on are one. */
static rynd_status softmax(raising *r)
{
    const ry_value *x = ry_net_value(r->net, r->node->in[0]);
    const int rank = x ? x->shape.rank : -1;
    const int axis = rank < 0 ? -1 : ry_axis((int64_t)ry_net_number(r->node, "axis", 1), rank);
    bool one = axis >= 0;
    for (int d = axis + 1; one && d < rank; d++) {
        one = x->shape.dim[d] == 1;
    }
    return one ? ry_net_set_int(r->net, r->node, "axis", axis, r->error)
               : refuse(r, "it normalises several dims together");
}

/* Old resizing in the words of opset 11: X, roi, scales; coordinates without an offset. */
static rynd_status resize(raising *r)
{
    const bool linear =
        ry_net_says(r->node, "mode", "linear") || ry_net_says(r->node, "mode", "bilinear");
    const char *scales = r->node->inputs > 1 ? r->node->in[1] : NULL;
    if (!scales) {
        ry_attribute_record record;
        void *data;
        bool found;
        RY_TRY(ry_net_attribute(r->net, r->node, "scales", &record, &found, r->error));
        if (!found) {
            return refuse(r, "it has no attribute 'scales'");
        }
        RY_TRY(set_constant(r, 1, "scales", RY_f32, 1,
                            (int64_t)(record.numbers.size / sizeof(float)), &data));
        memcpy(data, record.numbers.data, record.numbers.size);
        scales = r->node->in[1];
        ry_net_drop_attribute(r->node, "scales");
    }
    const char *const in[3] = {r->node->in[0], "", scales};
    RY_TRY(ry_net_set_inputs(r->net, r->node, 3, in, r->error));
    r->node->op = "Resize";
    RY_TRY(ry_net_set_text(r->net, r->node, "mode", linear ? "linear" : "nearest", r->error));
    RY_TRY(ry_net_set_text(r->net, r->node, "nearest_mode", "floor", r->error));
    return ry_net_set_text(r->net, r->node, "coordinate_transformation_mode", "asymmetric",
                           r->error);
}

/* Rules: op, first opset of the new words, and how a node is turned. */
static const struct rule {
    const char *op;
    int64_t since;
    convert_function *convert;
} rules[] = {
    {"Add", 7, old_binary},      {"Sub", 7, old_binary},   {"Mul", 7, old_binary},
    {"Div", 7, old_binary},      {"Gemm", 7, gemm},        {"BatchNormalization", 9, batch_norm},
    {"Slice", 10, slice},        {"TopK", 10, top_k},      {"Upsample", 10, resize},
    {"Resize", 11, resize},      {"Clip", 11, clip},       {"Pad", 11, pad},
    {"Scatter", 11, scatter},    {"Dropout", 12, dropout}, {"Softmax", 13, softmax},
    {"LogSoftmax", 13, softmax}, {"Hardmax", 13, softmax}, {"Squeeze", 13, axes},
    {"Unsqueeze", 13, axes},     {"ReduceSum", 13, axes},  {"Split", 13, split},
};

static rynd_status raise_node(raising *r, int64_t to)
{
    const ry_operator *nearest;
    bool done = false;
    ry_net_drop_attribute(r->node, "consumed_inputs");
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        /* an op that a rule renames is as new as can be then */
        if (!done && r->from < rules[i].since && rules[i].since <= to &&
            strcmp(rules[i].op, r->node->op) == 0) {
            RY_TRY(rules[i].convert(r));
            done = true;
        }
    }
    if (done || *r->node->domain) {
        return RYND_OK;
    }
    if (r->node->graphs) {
        return refuse(r, "it contains a graph");
    }
    return ry_operator_find(r->node->op, "", r->from, &nearest) ==
                   ry_operator_find(r->node->op, "", to, &nearest)
               ? RYND_OK
               : refuse(r, "its inputs or attributes are others there");
}

rynd_status ry_net_raise(ry_net *net, int64_t opset, ry_error *error)
{
    if (net->opset >= opset) {
        return RYND_OK;
    }
    for (size_t n = 0; n < net->node_count; n++) {
        raising r = {net, &net->nodes[n], net->opset, error};
        RY_TRY(raise_node(&r, opset));
    }
    net->opset = opset;
    return RYND_OK;
}
