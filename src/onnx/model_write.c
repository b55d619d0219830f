/* SPDX-License-Identifier: Apache-2.0 */
/* A model's file written once more with other weights.
 *
 * Nothing is made anew from the graph: messages are copied field by field, and only the path from
 * the model to its tensors is walked, so that what rynd does not know of (metadata, documentation,
 * fields of later versions) stays. */
#include "graph/graph_names.h"
#include "graph/own_vector.h"
#include "onnx/data_write.h"
#include "onnx/metadata.h"
#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "onnx/wire.h"

#include <limits.h>
#include <onnx.pb.h>
#include <string.h>

typedef struct writer {
    ry_reader reader;
    const ry_onnx_model *model;
    const ry_onnx_replacement *replacements;
    ry_names names; /* the replacements' names */
    const ry_graph *graph;
    bool *found, *added; /* per replacement; added: the file lacks a constant of that name */
    ry_node_id *norm; /* per replacement: owner of this own vector (graph/own_vector.h), or none */
    int *input;
    size_t count, own_vectors;
    ry_data_out to;
    bool inference; /* ry_onnx_output.inference */
} writer;

/* How a message inside another is written; `named`: its tensors and nodes are the graph's own,
 * whose names are the model's. */
typedef rynd_status write_function(writer *w, ry_slice bytes, bool named);

static write_function write_graph, write_function_proto, write_node, write_attribute, write_tensor;

/* Which fields of a message hold what must be looked into. */
typedef struct inner {
    uint64_t field;
    write_function *write;
} inner;

static const inner in_model[] = {{7, write_graph}, {25, write_function_proto}, {0}};
static const inner in_graph[] = {{1, write_node}, {5, write_tensor}, {0}};
static const inner in_function[] = {{7, write_node}, {0}};
static const inner in_node[] = {{5, write_attribute}, {0}};
static const inner in_attribute[] = {{5, write_tensor}, {10, write_tensor}, {0}};

static const inner *find_inner(const inner *table, const ry_wire_field *field)
{
    for (; field->wire == RY_WIRE_BYTES && table->field; table++) {
        if (table->field == field->number) {
            return table;
        }
    }
    return NULL;
}

static rynd_status damaged(const writer *w)
{
    return ry_fail(w->reader.error, RYND_ERROR_FORMAT,
                   "damaged: a message of the model's file cannot be read again; did the file "
                   "change since it was loaded?");
}

static rynd_status put_inner(writer *w, const inner *in, ry_slice bytes, bool named)
{
    ry_data_count count;
    ry_data_count_begin(&w->to, &count);
    const rynd_status status = in->write(w, bytes, named);
    if (status != RYND_OK) {
        w->to.out = count.out;
        return status;
    }
    return ry_data_count_end(&w->to, &count, (unsigned)in->field) ? in->write(w, bytes, named)
                                                                  : RYND_OK;
}

static rynd_status is_replaced_copy(writer *w, ry_slice node, bool *is);

static rynd_status write_message(writer *w, const inner *table, ry_slice bytes, bool named)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        const inner *in = find_inner(table, &field);
        bool dropped = table == in_model && field.number == RY_ONNX_METADATA_FIELD &&
                       w->model->metadata_changed;
        if (in && named && in->write == write_node) {
            RY_TRY(is_replaced_copy(w, field.bytes, &dropped));
        }
        if (dropped) {
            continue;
        }
        /* What is no message rynd did not read: a function that nobody calls, a field that comes
         * again. */
        if (in && ry_wire_is_message(field.bytes)) {
            RY_TRY(put_inner(w, in, field.bytes, named));
        } else {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status write_graph(writer *w, ry_slice bytes, bool named)
{
    RY_TRY(write_message(w, in_graph, bytes, named));
    for (size_t i = 0; i < w->count; i++) {
        if (w->added[i]) {
            /* one that the file had by an Identity, or shared with somebody */
            ry_data_put_initializer(&w->to, w->replacements[i].name, &w->replacements[i].tensor);
        }
    }
    return RYND_OK;
}

/* The names inside a function are its own. */
static rynd_status write_function_proto(writer *w, ry_slice bytes, bool named)
{
    (void)named;
    return write_message(w, in_function, bytes, false);
}

static rynd_status write_attribute(writer *w, ry_slice bytes, bool named)
{
    (void)named; /* a tensor's name has no meaning here */
    return write_message(w, in_attribute, bytes, false);
}

/* The last field of that number, as protobuf reads it. */
static rynd_status last_field(const writer *w, ry_slice bytes, uint64_t number, ry_slice *content)
{
    ry_wire_field field;
    bool bad = false;
    *content = (ry_slice){0};
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number == number && field.wire == RY_WIRE_BYTES) {
            *content = field.bytes;
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status first_output(const writer *w, ry_slice node, ry_slice *name)
{
    enum { OUTPUT_FIELD = 2 };
    ry_wire_field field;
    bool bad = false;
    *name = (ry_slice){0};
    while (!name->data && ry_wire_next(&node, &field, &bad)) {
        if (field.number == OUTPUT_FIELD && field.wire == RY_WIRE_BYTES) {
            *name = field.bytes;
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

static const ry_onnx_replacement *find_replacement(writer *w, ry_slice name)
{
    const uint32_t id =
        name.size ? ry_names_find_part(&w->names, (const char *)name.data, name.size) : RY_NO_NAME;
    if (id == RY_NO_NAME) {
        return NULL;
    }
    w->found[id] = true;
    return &w->replacements[id];
}

/* Writes a TensorProto without its data fields; unless keep_type, without dims and type. */
static rynd_status put_rest_of_tensor(writer *w, ry_slice bytes, bool keep_type)
{
    enum { DIMS = 1, DATA_TYPE = 2 };
    /* segment, float_data, int32_data, string_data, int64_data, raw_data, double_data,
     * uint64_data, external_data, data_location */
    const uint32_t of_data = 1u << 3 | 1u << 4 | 1u << 5 | 1u << 6 | 1u << 7 | 1u << 9 | 1u << 10 |
                             1u << 11 | 1u << 13 | 1u << 14;
    const uint32_t dropped = keep_type ? of_data : of_data | 1u << DIMS | 1u << DATA_TYPE;
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number > 31 || !(dropped >> field.number & 1)) {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

/* A tensor as the file has it, whose pages need not stay in memory. */
static void put_as_it_is(const writer *w, ry_slice tensor)
{
    ry_wire_put(w->to.out, tensor.data, tensor.size);
    if (w->to.out->put) {
        ry_onnx_unneeded(w->model, tensor.data, tensor.size);
    }
}

static rynd_status write_tensor(writer *w, ry_slice bytes, bool named)
{
    ry_onnx_TensorProto proto;
    const rynd_status status = RY_READER_DECODE(&w->reader, TensorProto, bytes, &proto);
    if (status == RYND_ERROR_FORMAT) { /* likewise */
        put_as_it_is(w, bytes);
        return RYND_OK;
    }
    RY_TRY(status);
    const ry_onnx_replacement *other = named ? find_replacement(w, proto.name) : NULL;
    if (other) {
        RY_TRY(put_rest_of_tensor(w, bytes, false));
        ry_data_put_tensor(&w->to, &other->tensor);
        return RYND_OK;
    }
    if (proto.data_location != ry_onnx_TensorProto_DataLocation_EXTERNAL || !w->reader.folder) {
        put_as_it_is(w, bytes);
        return RYND_OK;
    }
    ry_tensor_record record;
    RY_TRY(ry_reader_tensor(&w->reader, bytes, "", w->reader.source.arena, &record));
    RY_TRY(put_rest_of_tensor(w, bytes, true));
    const size_t size = (size_t)ry_shape_bytes(&record.shape, record.dtype);
    ry_data_put(&w->to, record.data, size);
    if (w->to.out->put) {
        ry_mapping_unneeded(*w->reader.mappings, record.data, size);
    }
    return RYND_OK;
}

enum { INPUT = 1, OUTPUT = 2, OP_TYPE = 4, ATTRIBUTE = 5 }; /* fields of NodeProto */

static rynd_status is_replaced_copy(writer *w, ry_slice node, bool *is)
{
    ry_slice op, output;
    if (!ry_wire_is_message(node)) {
        return RYND_OK;
    }
    RY_TRY(last_field(w, node, OP_TYPE, &op));
    if (ry_slice_is(op, "Identity")) {
        RY_TRY(last_field(w, node, OUTPUT, &output));
        const ry_onnx_replacement *other = find_replacement(w, output);
        *is = other && w->added[other - w->replacements];
    }
    return RYND_OK;
}

/* The name of a normalisation's own vector, in the place of the shared one's; NULL: as it is. */
static const char *own_vector(writer *w, ry_slice output, int input)
{
    for (size_t i = 0; i < w->count; i++) {
        const bool own = w->norm[i] != RY_NO_NODE && w->input[i] == input;
        const ry_node *node = own ? &w->graph->nodes[w->norm[i]] : NULL;
        if (own && ry_slice_is(output, w->graph->values[node->out[0]].name)) {
            w->found[i] = true;
            return w->replacements[i].name;
        }
    }
    return NULL;
}

/* Whether the node that gives `output` is to have a vector of its own. */
static bool gets_vector(const writer *w, ry_slice output)
{
    for (size_t i = 0; i < w->count; i++) {
        const ry_node_id n = w->norm[i];
        if (n != RY_NO_NODE &&
            ry_slice_is(output, w->graph->values[w->graph->nodes[n].out[0]].name)) {
            return true;
        }
    }
    return false;
}

/* Does nobody read the node's outputs behind the first? */
static rynd_status gives_one_output(const writer *w, ry_slice node, bool *one)
{
    ry_wire_field field;
    bool bad = false;
    int outputs = 0;
    *one = true;
    while (ry_wire_next(&node, &field, &bad)) {
        if (field.number != OUTPUT || field.wire != RY_WIRE_BYTES || outputs++ == 0) {
            continue;
        }
        const char *name = ry_arena_string(w->reader.source.arena, (const char *)field.bytes.data,
                                           field.bytes.size);
        RY_TRY(name ? RYND_OK : ry_fail_memory(w->reader.error));
        const ry_value_id v = *name ? ry_graph_find(w->graph, name) : RY_NO_VALUE;
        *one = *one && (v == RY_NO_VALUE || ry_graph_use_count(w->graph, v) == 0);
    }
    return bad ? damaged(w) : RYND_OK;
}

/* Changes to a node while it is written. */
typedef struct node_edit {
    ry_slice output; /* the first */
    bool vectors;    /* inputs become the normalisation's own vectors */
    int inputs;      /* as many are kept */
    int outputs;
    bool training_mode; /* the attribute is kept */
} node_edit;

static rynd_status find_edit(writer *w, ry_slice node, ry_slice op, node_edit *edit)
{
    enum { RATIO_INPUTS = 2 }; /* without training_mode */
    const bool norm = ry_slice_is(op, "BatchNormalization"), drop = ry_slice_is(op, "Dropout");
    bool alone = false;
    *edit = (node_edit){.inputs = INT_MAX, .outputs = INT_MAX, .training_mode = true};
    RY_TRY(first_output(w, node, &edit->output));
    edit->vectors = w->own_vectors && gets_vector(w, edit->output);
    if (w->inference && norm) {
        RY_TRY(gives_one_output(w, node, &alone));
    }
    if (alone) {
        edit->outputs = 1;
        edit->training_mode = false;
    } else if (w->inference && drop) {
        edit->inputs = RATIO_INPUTS;
    }
    return RYND_OK;
}

static bool is_edited(const node_edit *edit)
{
    return edit->vectors || !edit->training_mode || edit->inputs != INT_MAX;
}

static rynd_status is_training_mode(const writer *w, ry_slice attribute, bool *is)
{
    enum { NAME = 1 };
    ry_slice name;
    RY_TRY(last_field(w, attribute, NAME, &name));
    *is = ry_slice_is(name, "training_mode");
    return RYND_OK;
}

static rynd_status write_edited(writer *w, ry_slice bytes, const node_edit *edit)
{
    ry_wire_field field;
    bool bad = false;
    int input = 0, output = 0;
    while (ry_wire_next(&bytes, &field, &bad)) {
        const bool text = field.wire == RY_WIRE_BYTES, reads = text && field.number == INPUT;
        const char *name = reads && edit->vectors ? own_vector(w, edit->output, input) : NULL;
        bool dropped = (reads && input >= edit->inputs) ||
                       (text && field.number == OUTPUT && output++ >= edit->outputs);
        input += reads;
        if (text && field.number == ATTRIBUTE && !edit->training_mode) {
            RY_TRY(is_training_mode(w, field.bytes, &dropped));
        }
        if (name) {
            ry_wire_put_text(w->to.out, INPUT, name);
        } else if (!dropped) {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

/* A Constant's one attribute is its value. */
static rynd_status write_constant(writer *w, ry_slice bytes, const ry_tensor *value)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number != ATTRIBUTE) {
            ry_wire_put(w->to.out, field.whole.data, field.whole.size);
        }
    }
    ry_data_put_value(&w->to, value);
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status write_node(writer *w, ry_slice bytes, bool named)
{
    ry_slice op, output;
    RY_TRY(last_field(w, bytes, OP_TYPE, &op));
    if (named && ry_slice_is(op, "Constant")) {
        RY_TRY(last_field(w, bytes, OUTPUT, &output));
        const ry_onnx_replacement *other = find_replacement(w, output);
        if (other) {
            return write_constant(w, bytes, &other->tensor);
        }
    } else if (named && (w->own_vectors || w->inference)) {
        node_edit edit;
        RY_TRY(find_edit(w, bytes, op, &edit));
        if (is_edited(&edit)) {
            return write_edited(w, bytes, &edit);
        }
    }
    return write_message(w, in_node, bytes, named);
}

/* Exporters write equal constants once, and Identities for their further names: what such a one
 * copies, as far as that goes. Sorted graphs have no circles. */
static ry_value_id original_of(const ry_graph *graph, ry_value_id v)
{
    while (v != RY_NO_VALUE && !graph->values[v].constant) {
        const ry_node_id n = graph->values[v].producer;
        v = n != RY_NO_NODE && graph->nodes[n].op == RY_OP_identity ? graph->nodes[n].in[0]
                                                                    : RY_NO_VALUE;
    }
    return v;
}

static rynd_status check_replacement(writer *w, uint32_t i)
{
    const ry_graph *graph = w->graph;
    const ry_onnx_replacement *r = &w->replacements[i];
    const ry_value_id own = ry_graph_find(graph, r->name);
    ry_value_id id = original_of(graph, own);
    w->norm[i] = RY_NO_NODE;
    if (own == RY_NO_VALUE && ry_own_vector_find(graph, r->name, &w->norm[i], &w->input[i])) {
        id = original_of(graph, ry_norm_vector(&graph->nodes[w->norm[i]], w->input[i]));
        w->own_vectors++;
    }
    if (ry_names_find(&w->names, r->name) != i) {
        return ry_fail(w->reader.error, RYND_ERROR_ARGUMENT, "'%s' is given twice", r->name);
    }
    w->added[i] = id != own;
    if (id == RY_NO_VALUE) {
        return ry_fail(w->reader.error, RYND_ERROR_NOT_FOUND,
                       "the model has no constant '%s' to be replaced", r->name);
    }
    const ry_value *value = &graph->values[id];
    const ry_shape shape = ry_tensor_shape(&r->tensor);
    if ((ry_dtype)r->tensor.dtype != value->dtype || !ry_shape_equal(&shape, &value->shape)) {
        char have[256], want[256];
        return ry_fail(w->reader.error, RYND_ERROR_SHAPE,
                       "constant '%s' is %s of shape %s; what shall replace it is %s of shape %s",
                       r->name, ry_dtype_name(value->dtype),
                       ry_shape_text(NULL, &value->shape, have, sizeof have),
                       ry_dtype_name((ry_dtype)r->tensor.dtype),
                       ry_shape_text(NULL, &shape, want, sizeof want));
    }
    return RYND_OK;
}

static rynd_status write_all(writer *w, const ry_onnx_model *model, size_t count)
{
    ry_arena *arena = w->reader.source.arena;
    w->found = RY_TAKE(arena, bool, count);
    w->added = RY_TAKE(arena, bool, count);
    w->norm = RY_TAKE(arena, ry_node_id, count);
    w->input = RY_TAKE(arena, int, count);
    w->count = count;
    w->graph = model->graph;
    for (uint32_t i = 0; i < count; i++) {
        if (!w->found || !w->added || !w->norm || !w->input ||
            !ry_names_add(&w->names, arena, w->replacements[i].name, i)) {
            return ry_fail_memory(w->reader.error);
        }
        RY_TRY(check_replacement(w, i));
    }
    RY_TRY(write_message(w, in_model, w->reader.source.bytes, true));
    if (model->metadata_changed) {
        ry_onnx_metadata_write(model, w->to.out);
    }
    for (size_t i = 0; i < count; i++) {
        if (!w->found[i]) {
            return ry_fail(w->reader.error, RYND_ERROR_NOT_FOUND,
                           "'%s' is neither an initializer of the model's file nor the output of a "
                           "Constant node or of an Identity, and cannot be replaced",
                           w->replacements[i].name);
        }
    }
    return RYND_OK;
}

rynd_status ry_onnx_write(const ry_onnx_model *model, const ry_onnx_replacement *replacements,
                          size_t count, const ry_onnx_output *to, ry_error *error)
{
    const ry_allocator *allocator = model->graph->arena.allocator;
    ry_mapping *mappings = NULL; /* its own: a model may be written by many threads at once */
    ry_arena scratch;
    if (!model->bytes) {
        return ry_fail(error, RYND_ERROR_UNSUPPORTED,
                       "a part of a model has no file that could be written again; write the model "
                       "that it was made from");
    }
    ry_arena_init(&scratch, allocator);
    writer w = {
        .reader = {.source = {.bytes = {model->bytes, model->byte_count}, .arena = &scratch},
                   .allocator = allocator,
                   .folder = model->folder,
                   .mappings = &mappings,
                   .error = error},
        .model = model,
        .replacements = replacements,
        .to = {.out = to->model, .location = to->location, .beside = to->data},
        .inference = to->inference};
    const rynd_status status = write_all(&w, model, count);
    ry_arena_free(&scratch);
    ry_mapping_close(allocator, mappings);
    return status;
}
