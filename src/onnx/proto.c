/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding messages into records: text, attributes, nodes. */
#include "onnx/proto.h"
#include "onnx/wire.h"

#include <onnx.pb.h>
#include <stdlib.h>
#include <string.h>

bool ry_reader_decodes(ry_reader *reader, const pb_msgdesc_t *type, ry_slice bytes, void *message,
                       size_t size, const char **reason)
{
    if (!ry_slices_decode(&reader->source, type, bytes, message, size, reason)) {
        return false;
    }
    *reason = "a field is malformed";
    return ry_wire_is_message(bytes);
}

rynd_status ry_reader_decode(ry_reader *reader, const pb_msgdesc_t *type, ry_slice bytes,
                             void *message, size_t size, const char *what)
{
    const char *reason;
    if (ry_reader_decodes(reader, type, bytes, message, size, &reason)) {
        return RYND_OK;
    }
    if (reader->source.out_of_memory) {
        return ry_fail_memory(reader->error);
    }
    size_t offset = bytes.data ? (size_t)(bytes.data - reader->source.bytes.data) : 0;
    return ry_fail(reader->error, RYND_ERROR_FORMAT,
                   "damaged: the %s at byte %zu cannot be decoded (%s)", what, offset, reason);
}

rynd_status ry_reader_text(ry_reader *reader, ry_slice bytes, const char **text)
{
    if (bytes.size && memchr(bytes.data, '\0', bytes.size)) {
        return ry_fail(reader->error, RYND_ERROR_FORMAT,
                       "damaged: the name '%.60s' has a zero byte inside",
                       (const char *)bytes.data);
    }
    *text = ry_arena_string(reader->source.arena, bytes.size ? (const char *)bytes.data : "",
                            bytes.size);
    return *text ? RYND_OK : ry_fail_memory(reader->error);
}

const char *ry_onnx_type_name(int64_t data_type)
{
    /* From 17 on they are later than the packaged onnx.proto. */
    static const char *const names[] = {
        [0] = "UNDEFINED",   [8] = "STRING",          [14] = "COMPLEX64",
        [15] = "COMPLEX128", [17] = "FLOAT8E4M3FN",   [18] = "FLOAT8E4M3FNUZ",
        [19] = "FLOAT8E5M2", [20] = "FLOAT8E5M2FNUZ", [21] = "UINT4",
        [22] = "INT4",       [23] = "FLOAT4E2M1",     [24] = "FLOAT8E8M0",
        [25] = "UINT2",      [26] = "INT2",           [27] = "FLOAT6E2M3",
        [28] = "FLOAT6E3M2",
    };
    bool known =
        data_type >= 0 && data_type < (int64_t)(sizeof names / sizeof *names) && names[data_type];
    return known ? names[data_type] : "not in the ONNX that rynd knows";
}

/* IR version 1 had no `type`: the field that is there tells. */
static int guess_type(const ry_onnx_AttributeProto *proto)
{
    if (proto->has_f) {
        return RY_ATTRIBUTE_float;
    }
    if (proto->has_i) {
        return RY_ATTRIBUTE_int;
    }
    if (ry_slice_present(proto->s)) {
        return RY_ATTRIBUTE_string;
    }
    if (ry_slice_present(proto->t)) {
        return RY_ATTRIBUTE_tensor;
    }
    if (ry_slice_present(proto->g)) {
        return RY_ATTRIBUTE_graph;
    }
    if (proto->floats.bytes.size) {
        return RY_ATTRIBUTE_floats;
    }
    return proto->strings.count ? RY_ATTRIBUTE_strings : RY_ATTRIBUTE_ints;
}

rynd_status ry_reader_attribute(ry_reader *reader, ry_slice bytes, ry_attribute_record *attribute)
{
    ry_onnx_AttributeProto proto;
    RY_TRY(RY_READER_DECODE(reader, AttributeProto, bytes, &proto));
    *attribute = (ry_attribute_record){.f = proto.f,
                                       .i = proto.i,
                                       .s = proto.s,
                                       .tensor = proto.t,
                                       .graph = proto.g,
                                       .strings = proto.strings};
    attribute->type = proto.has_type && proto.type ? (int)proto.type : guess_type(&proto);
    attribute->numbers =
        attribute->type == RY_ATTRIBUTE_floats ? proto.floats.bytes : proto.ints.bytes;
    RY_TRY(ry_reader_text(reader, proto.name, &attribute->name));
    if (proto.ref_attr_name.size) {
        RY_TRY(ry_reader_text(reader, proto.ref_attr_name, &attribute->reference));
    }
    return RYND_OK;
}

static rynd_status read_texts(ry_reader *reader, const ry_slices *list, int *count,
                              const char ***texts)
{
    *count = (int)list->count;
    *texts = RY_TAKE(reader->source.arena, const char *, list->count);
    if (!*texts) {
        return ry_fail_memory(reader->error);
    }
    for (size_t i = 0; i < list->count; i++) {
        RY_TRY(ry_reader_text(reader, list->at[i], &(*texts)[i]));
    }
    return RYND_OK;
}

static const char *first_output(const ry_node_record *node)
{
    for (int i = 0; i < node->outputs; i++) {
        if (*node->out[i]) {
            return node->out[i];
        }
    }
    return "";
}

static int compare_texts(const void *a, const void *b)
{
    const char *const *x = a, *const *y = b;
    return strcmp(*x, *y);
}

/* Fails if two attributes have one name, because their order must not decide. */
static rynd_status check_attribute_names(ry_reader *reader, const ry_node_record *node)
{
    const char **names = RY_TAKE(reader->source.arena, const char *, node->attributes);
    if (!names) {
        return ry_fail_memory(reader->error);
    }
    for (int i = 0; i < node->attributes; i++) {
        names[i] = node->attribute[i].name;
    }
    qsort(names, (size_t)node->attributes, sizeof *names, compare_texts);
    for (int i = 1; i < node->attributes; i++) {
        if (strcmp(names[i - 1], names[i]) == 0) {
            return ry_fail(reader->error, RYND_ERROR_FORMAT,
                           "node '%s' (%s): its attribute '%s' is given twice", node->name,
                           node->op, names[i]);
        }
    }
    return RYND_OK;
}

rynd_status ry_reader_node(ry_reader *reader, ry_slice bytes, ry_node_record *node)
{
    ry_onnx_NodeProto proto;
    *node = (ry_node_record){0};
    RY_TRY(RY_READER_DECODE(reader, NodeProto, bytes, &proto));
    RY_TRY(ry_reader_text(reader, proto.name, &node->name));
    RY_TRY(ry_reader_text(reader, proto.op_type, &node->op));
    RY_TRY(ry_reader_text(reader, proto.domain, &node->domain));
    RY_TRY(read_texts(reader, &proto.input, &node->inputs, &node->in));
    RY_TRY(read_texts(reader, &proto.output, &node->outputs, &node->out));
    if (!*node->name) {
        node->name = first_output(node);
    }
    node->attributes = (int)proto.attribute.count;
    node->attribute = RY_TAKE(reader->source.arena, ry_attribute_record, proto.attribute.count);
    if (!node->attribute) {
        return ry_fail_memory(reader->error);
    }
    for (int i = 0; i < node->attributes; i++) {
        RY_TRY(ry_reader_attribute(reader, proto.attribute.at[i], &node->attribute[i]));
    }
    return check_attribute_names(reader, node);
}
