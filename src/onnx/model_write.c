/* SPDX-License-Identifier: Apache-2.0 */
/* A model's file written once more with other weights.
 *
 * Nothing is made anew from the graph: messages are copied field by field, and only the path from
 * the model to its tensors is walked, so that what rynd does not know of (metadata, documentation,
 * fields of later versions) stays. */
#include "graph/graph_names.h"
#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "onnx/wire.h"

#include <onnx.pb.h>
#include <string.h>

typedef struct writer {
    ry_reader reader;
    const ry_onnx_replacement *replacements;
    ry_names names; /* of the replacements */
    bool *found;
    ry_wire_out *out;
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

static bool is_message(ry_slice bytes)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
    }
    return !bad;
}

/* A message needs its length first: it is counted, then written. */
static rynd_status put_inner(writer *w, const inner *in, ry_slice bytes, bool named)
{
    ry_wire_out *out = w->out, count = {0};
    w->out = &count;
    const rynd_status status = in->write(w, bytes, named);
    w->out = out;
    RY_TRY(status);
    ry_wire_put_head(out, (unsigned)in->field, count.size);
    if (!out->put) {
        out->size += count.size;
        return RYND_OK;
    }
    return in->write(w, bytes, named);
}

static rynd_status write_message(writer *w, const inner *table, ry_slice bytes, bool named)
{
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        const inner *in = find_inner(table, &field);
        /* What is no message rynd did not read: a function that nobody calls, a field that comes
         * again. */
        if (in && is_message(field.bytes)) {
            RY_TRY(put_inner(w, in, field.bytes, named));
        } else {
            ry_wire_put(w->out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status write_graph(writer *w, ry_slice bytes, bool named)
{
    return write_message(w, in_graph, bytes, named);
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

/* Everything of a TensorProto but the fields that say what its data is and where. */
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
            ry_wire_put(w->out, field.whole.data, field.whole.size);
        }
    }
    return bad ? damaged(w) : RYND_OK;
}

enum { TENSOR_DIMS = 1, TENSOR_DATA_TYPE = 2, TENSOR_RAW_DATA = 9 };

static void put_data(ry_wire_out *out, const void *data, size_t size)
{
    ry_wire_put_head(out, TENSOR_RAW_DATA, size);
    ry_wire_put(out, data, size);
}

static void put_typed_data(ry_wire_out *out, const ry_tensor *tensor)
{
    for (int i = 0; i < tensor->rank; i++) {
        ry_wire_put_number(out, TENSOR_DIMS, (uint64_t)tensor->dim[i]);
    }
    ry_wire_put_number(out, TENSOR_DATA_TYPE, (uint64_t)ry_dtype_to_onnx((ry_dtype)tensor->dtype));
    put_data(out, tensor->data, ry_tensor_bytes(tensor));
}

static rynd_status write_tensor(writer *w, ry_slice bytes, bool named)
{
    ry_onnx_TensorProto proto;
    const rynd_status status = RY_READER_DECODE(&w->reader, TensorProto, bytes, &proto);
    if (status == RYND_ERROR_FORMAT) { /* likewise */
        ry_wire_put(w->out, bytes.data, bytes.size);
        return RYND_OK;
    }
    RY_TRY(status);
    const ry_onnx_replacement *other = named ? find_replacement(w, proto.name) : NULL;
    if (other) {
        RY_TRY(put_rest_of_tensor(w, bytes, false));
        put_typed_data(w->out, &other->tensor);
        return RYND_OK;
    }
    if (proto.data_location != ry_onnx_TensorProto_DataLocation_EXTERNAL || !w->reader.folder) {
        ry_wire_put(w->out, bytes.data, bytes.size);
        return RYND_OK;
    }
    ry_tensor_record record;
    RY_TRY(ry_reader_tensor(&w->reader, bytes, "", w->reader.source.arena, &record));
    RY_TRY(put_rest_of_tensor(w, bytes, true));
    put_data(w->out, record.data, (size_t)ry_shape_bytes(&record.shape, record.dtype));
    return RYND_OK;
}

/* The one attribute of a Constant whose output is replaced: "value", a tensor. */
static void put_value(ry_wire_out *out, const ry_onnx_replacement *other)
{
    enum { NODE_ATTRIBUTE = 5, NAME = 1, TENSOR = 5, TYPE = 20 };
    ry_wire_out tensor = {0}, attribute = {0};
    put_typed_data(&tensor, &other->tensor);
    for (int turn = 0; turn < 2; turn++) { /* counted, then written */
        ry_wire_out *to = turn ? out : &attribute;
        if (turn) {
            ry_wire_put_head(out, NODE_ATTRIBUTE, attribute.size);
        }
        ry_wire_put_text(to, NAME, "value");
        ry_wire_put_number(to, TYPE, RY_ATTRIBUTE_tensor);
        ry_wire_put_head(to, TENSOR, tensor.size);
        put_typed_data(to, &other->tensor);
    }
}

static rynd_status write_node(writer *w, ry_slice bytes, bool named)
{
    enum { OUTPUT = 2, OP_TYPE = 4, ATTRIBUTE = 5 };
    ry_slice op, output;
    RY_TRY(last_field(w, bytes, OP_TYPE, &op));
    const ry_onnx_replacement *other = NULL;
    if (named && ry_slice_is(op, "Constant")) {
        RY_TRY(last_field(w, bytes, OUTPUT, &output));
        other = find_replacement(w, output);
    }
    if (!other) {
        return write_message(w, in_node, bytes, named);
    }
    ry_wire_field field;
    bool bad = false;
    while (ry_wire_next(&bytes, &field, &bad)) {
        if (field.number != ATTRIBUTE) {
            ry_wire_put(w->out, field.whole.data, field.whole.size);
        }
    }
    put_value(w->out, other);
    return bad ? damaged(w) : RYND_OK;
}

static rynd_status check_replacement(const writer *w, const ry_graph *graph, uint32_t i)
{
    const ry_onnx_replacement *r = &w->replacements[i];
    const ry_value_id id = ry_graph_find(graph, r->name);
    if (ry_names_find(&w->names, r->name) != i) {
        return ry_fail(w->reader.error, RYND_ERROR_ARGUMENT, "'%s' is given twice", r->name);
    }
    if (id == RY_NO_VALUE || !graph->values[id].constant) {
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
    for (uint32_t i = 0; i < count; i++) {
        if (!w->found || !ry_names_add(&w->names, arena, w->replacements[i].name, i)) {
            return ry_fail_memory(w->reader.error);
        }
        RY_TRY(check_replacement(w, model->graph, i));
    }
    RY_TRY(write_message(w, in_model, w->reader.source.bytes, true));
    for (size_t i = 0; i < count; i++) {
        if (!w->found[i]) {
            return ry_fail(w->reader.error, RYND_ERROR_NOT_FOUND,
                           "'%s' is neither an initializer of the model's file nor the output of a "
                           "Constant node, and cannot be replaced",
                           w->replacements[i].name);
        }
    }
    return RYND_OK;
}

rynd_status ry_onnx_write(const ry_onnx_model *model, const ry_onnx_replacement *replacements,
                          size_t count, ry_wire_out *out, ry_error *error)
{
    const int64_t most = INT32_MAX; /* of a protobuf message */
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
        .replacements = replacements,
        .out = out};
    rynd_status status = write_all(&w, model, count);
    if (status == RYND_OK && out->size > (uint64_t)most) {
        status = ry_fail(error, RYND_ERROR_UNSUPPORTED,
                         "the model would be a file of %llu bytes; an ONNX file has at most 2 GiB",
                         (unsigned long long)out->size);
    }
    ry_arena_free(&scratch);
    ry_mapping_close(allocator, mappings);
    return status;
}
