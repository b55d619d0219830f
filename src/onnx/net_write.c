/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a model's file with the nodes and constants of a net. */
#include "onnx/data_write.h"
#include "onnx/metadata.h"
#include "onnx/net.h"
#include "onnx/wire.h"

#include <onnx.pb.h>
#include <string.h>

typedef struct writer {
    const ry_net *net;
    ry_arena scratch;
    ry_names used; /* values that a written node reads, and outputs */
    bool *dropped; /* per node: nobody needs it */
    bool graphs;   /* a graph in an attribute may read any value */
    ry_data_out to;
    ry_error *error;
} writer;

static rynd_status damaged(const writer *w)
{
    return ry_fail(w->error, RYND_ERROR_FORMAT,
                   "damaged: a message of the model's file cannot be read again; did the file "
                   "change since it was loaded?");
}

static bool is_used(const writer *w, const char *name)
{
    return w->graphs || ry_names_find(&w->used, name) != RY_NO_NAME;
}

static rynd_status use(writer *w, const char *name)
{
    return !*name || ry_names_add(&w->used, &w->scratch, name, 0) ? RYND_OK
                                                                  : ry_fail_memory(w->error);
}

/* Marks what the outputs need, from the last node to the first. */
static rynd_status find_used(writer *w)
{
    const ry_net *net = w->net;
    const ry_graph *graph = net->model->graph;
    w->dropped = RY_TAKE(&w->scratch, bool, net->node_count);
    RY_TRY(w->dropped ? RYND_OK : ry_fail_memory(w->error));
    for (size_t i = 0; i < graph->output_count; i++) {
        RY_TRY(use(w, graph->values[graph->outputs[i]].name));
    }
    for (size_t n = net->node_count; n-- > 0;) {
        const ry_net_node *node = &net->nodes[n];
        bool needed = false;
        w->graphs = w->graphs || node->graphs;
        for (int i = 0; i < node->outputs; i++) {
            needed = needed || (*node->out[i] && is_used(w, node->out[i]));
        }
        w->dropped[n] = !needed;
        for (int i = 0; needed && i < node->inputs; i++) {
            RY_TRY(use(w, node->in[i]));
        }
    }
    return RYND_OK;
}

static void put_node_fields(writer *w, const ry_net_node *node)
{
    enum { INPUT = 1, OUTPUT = 2, NAME = 3, OP_TYPE = 4, ATTRIBUTE = 5, DOMAIN = 7 };
    ry_wire_out *out = w->to.out;
    for (int i = 0; i < node->inputs; i++) {
        ry_wire_put_text(out, INPUT, node->in[i]);
    }
    for (int i = 0; i < node->outputs; i++) {
        ry_wire_put_text(out, OUTPUT, node->out[i]);
    }
    ry_wire_put_text(out, NAME, node->name);
    ry_wire_put_text(out, OP_TYPE, node->op);
    for (int i = 0; i < node->attributes; i++) {
        ry_wire_put_head(out, ATTRIBUTE, node->attribute[i].size);
        ry_wire_put(out, node->attribute[i].data, node->attribute[i].size);
    }
    if (*node->domain) {
        ry_wire_put_text(out, DOMAIN, node->domain);
    }
}

static void put_node(writer *w, const ry_net_node *node)
{
    enum { GRAPH_NODE = 1 };
    ry_data_count count;
    ry_data_count_begin(&w->to, &count);
    put_node_fields(w, node);
    if (ry_data_count_end(&w->to, &count, GRAPH_NODE)) {
        put_node_fields(w, node);
    }
}

/* The last field of that number as text in the scratch; "": none. */
static rynd_status text_field(writer *w, ry_slice bytes, uint64_t number, const char **text)
{
    ry_wire_field field;
    bool bad = false;
    ry_slice found = {0};
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number == number && field.wire == RY_WIRE_BYTES) {
            found = field.bytes;
        }
    }
    *text = ry_arena_string(&w->scratch, found.data ? (const char *)found.data : "", found.size);
    return bad ? damaged(w) : *text ? RYND_OK : ry_fail_memory(w->error);
}

static bool is_external(ry_slice tensor)
{
    enum { DATA_LOCATION = 14 };
    ry_wire_field field;
    bool bad = false, is = false;
    while (ry_wire_next(&tensor, &field, &bad)) {
        is = is || field.number == DATA_LOCATION;
    }
    return is;
}

static rynd_status put_initializer(writer *w, const ry_wire_field *field)
{
    enum { TENSOR_NAME = 8 };
    const char *name;
    ry_tensor tensor;
    RY_TRY(text_field(w, field->bytes, TENSOR_NAME, &name));
    if (!is_used(w, name) || ry_names_find(&w->net->constant_names, name) != RY_NO_NAME) {
        return RYND_OK;
    }
    if ((is_external(field->bytes) || w->to.location) &&
        ry_net_constant_of(w->net, name, &tensor)) {
        ry_data_put_initializer(&w->to, name, &tensor);
        return RYND_OK;
    }
    ry_wire_put(w->to.out, field->whole.data, field->whole.size);
    if (w->to.out->put) {
        ry_onnx_unneeded(w->net->model, field->whole.data, field->whole.size);
    }
    return RYND_OK;
}

enum {
    GRAPH_NODE = 1,
    GRAPH_INITIALIZER = 5,
    GRAPH_INPUT = 11,
    GRAPH_OUTPUT = 12,
    GRAPH_VALUE_INFO = 13,
    GRAPH_ANNOTATION = 14
};

enum { VALUE_NAME = 1 }; /* a field of ValueInfoProto */

/* Inputs that are initializers are constants to rynd, and must be to others. */
static rynd_status put_input(writer *w, const ry_wire_field *field)
{
    const char *name;
    RY_TRY(text_field(w, field->bytes, VALUE_NAME, &name));
    const ry_value *value = ry_net_value(w->net, name);
    if (value && !value->constant) {
        ry_wire_put(w->to.out, field->whole.data, field->whole.size);
    }
    return RYND_OK;
}

/* From a ValueInfoProto to the numbers of its dims: type, tensor_type, shape, dim, dim_value. */
static const unsigned to_dim[] = {2, 1, 2, 1, 1};
enum { SHAPE_LEVEL = 3, DIM_LEVEL = 4 };

static rynd_status put_resized(writer *w, ry_slice bytes, unsigned level);

/* A message as field `number`. */
static rynd_status put_inside(writer *w, ry_slice bytes, unsigned number, unsigned level)
{
    ry_data_count count;
    ry_data_count_begin(&w->to, &count);
    const rynd_status status = put_resized(w, bytes, level);
    if (status != RYND_OK) {
        w->to.out = count.out;
        return status;
    }
    return ry_data_count_end(&w->to, &count, number) ? put_resized(w, bytes, level) : RYND_OK;
}

static rynd_status put_resized(writer *w, ry_slice bytes, unsigned level)
{
    ry_wire_field field;
    bool bad = false;
    int index = 0; /* which dim */
    while (ry_wire_next(&bytes, &field, &bad)) {
        const bool on = field.number == to_dim[level];
        const bool first = on && level == SHAPE_LEVEL && index++ == 0;
        if (on && level == DIM_LEVEL && field.value == (uint64_t)w->net->resized.before) {
            ry_wire_put_number(w->to.out, to_dim[level], (uint64_t)w->net->resized.now);
        } else if (on && !first && level < DIM_LEVEL && field.wire == RY_WIRE_BYTES) {
            RY_TRY(put_inside(w, field.bytes, to_dim[level], level + 1));
        } else {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status put_output(writer *w, const ry_wire_field *field)
{
    const ry_graph *graph = w->net->model->graph;
    const char *name;
    RY_TRY(text_field(w, field->bytes, VALUE_NAME, &name));
    if (!w->net->resized.now || strcmp(name, graph->values[graph->outputs[0]].name) != 0) {
        ry_wire_put(w->to.out, field->whole.data, field->whole.size);
        return RYND_OK;
    }
    return put_inside(w, field->bytes, GRAPH_OUTPUT, 0);
}

static rynd_status put_graph_field(writer *w, const ry_wire_field *field)
{
    if (field->wire == RY_WIRE_BYTES) {
        switch (field->number) {
        case GRAPH_NODE:
        case GRAPH_ANNOTATION: return RYND_OK;
        case GRAPH_INITIALIZER: return put_initializer(w, field);
        case GRAPH_INPUT: return put_input(w, field);
        case GRAPH_OUTPUT: return put_output(w, field);
        case GRAPH_VALUE_INFO:
            if (w->net->retyped) {
                return RYND_OK;
            }
            break;
        default: break;
        }
    }
    ry_wire_put(w->to.out, field->whole.data, field->whole.size);
    return RYND_OK;
}

static rynd_status put_graph(writer *w, ry_slice bytes)
{
    const ry_net *net = w->net;
    ry_wire_field field;
    bool bad = false;
    for (size_t n = 0; n < net->node_count; n++) {
        if (!w->dropped[n]) {
            put_node(w, &net->nodes[n]);
        }
    }
    while (ry_wire_next(&bytes, &field, &bad)) {
        RY_TRY(put_graph_field(w, &field));
    }
    for (size_t i = 0; i < net->constant_count; i++) {
        if (is_used(w, net->constants[i].name)) {
            ry_data_put_initializer(&w->to, net->constants[i].name, &net->constants[i].tensor);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

/* The version of the default domain, which may be called "ai.onnx". */
static rynd_status put_opset(writer *w, const ry_wire_field *field)
{
    enum { DOMAIN = 1, VERSION = 2, OPSET_IMPORT = 8 };
    const char *domain;
    RY_TRY(text_field(w, field->bytes, DOMAIN, &domain));
    if (*domain && strcmp(domain, "ai.onnx") != 0) {
        ry_wire_put(w->to.out, field->whole.data, field->whole.size);
        return RYND_OK;
    }
    ry_data_count count;
    ry_data_count_begin(&w->to, &count);
    ry_wire_put_number(w->to.out, VERSION, (uint64_t)w->net->opset);
    if (ry_data_count_end(&w->to, &count, OPSET_IMPORT)) {
        ry_wire_put_number(w->to.out, VERSION, (uint64_t)w->net->opset);
    }
    return RYND_OK;
}

/* The least IR version whose files have constants that no caller overrides, and opset 13. */
static int64_t ir_version(const ry_net *net)
{
    enum { IR_OF_OPSET_13 = 7 };
    return net->model->ir_version > IR_OF_OPSET_13 ? net->model->ir_version : IR_OF_OPSET_13;
}

static rynd_status put_model(writer *w)
{
    enum { IR_VERSION = 1, GRAPH = 7, OPSET_IMPORT = 8 };
    ry_slice bytes = {w->net->model->bytes, w->net->model->byte_count};
    ry_wire_field field;
    bool bad = false;
    ry_wire_put_number(w->to.out, IR_VERSION, (uint64_t)ir_version(w->net));
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number == GRAPH && field.wire == RY_WIRE_BYTES) {
            ry_data_count count;
            ry_data_count_begin(&w->to, &count);
            const rynd_status status = put_graph(w, field.bytes);
            if (status != RYND_OK) {
                w->to.out = count.out;
                return status;
            }
            if (ry_data_count_end(&w->to, &count, GRAPH)) {
                RY_TRY(put_graph(w, field.bytes));
            }
        } else if (field.number == OPSET_IMPORT && field.wire == RY_WIRE_BYTES) {
            RY_TRY(put_opset(w, &field));
        } else if (field.number != IR_VERSION &&
                   !(field.number == RY_ONNX_METADATA_FIELD && w->net->model->metadata_changed)) {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    if (w->net->model->metadata_changed) {
        ry_onnx_metadata_write(w->net->model, w->to.out);
    }
    return bad ? damaged(w) : RYND_OK;
}

rynd_status ry_net_write(const ry_net *net, const ry_onnx_output *to, ry_error *error)
{
    writer w = {.net = net,
                .to = {.out = to->model, .location = to->location, .beside = to->data},
                .error = error};
    ry_arena_init(&w.scratch, net->arena->allocator);
    rynd_status status = find_used(&w);
    if (status == RYND_OK) {
        status = put_model(&w);
    }
    ry_arena_free(&w.scratch);
    return status;
}
