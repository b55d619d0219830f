/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto: data used where it is stored, decoded, or in a file beside the model. */
#include "onnx/onnx.h"
#include "onnx/proto.h"

#include <inttypes.h>
#include <onnx.pb.h>
#include <string.h>

typedef struct decoder {
    ry_reader *reader;
    ry_arena *arena;
    const ry_onnx_TensorProto *proto;
    ry_tensor_record *tensor;
    int64_t elements;
    size_t bytes;
} decoder;

static rynd_status fail(const decoder *d, rynd_status status, const char *why)
{
    return ry_fail(d->reader->error, status, "tensor '%s': %s", d->tensor->name, why);
}

static rynd_status read_dims(decoder *d)
{
    ry_shape *shape = &d->tensor->shape;
    ry_slice rest = d->proto->dims.bytes;
    uint64_t number;
    bool bad = false;
    *shape = (ry_shape){0};
    while (ry_packed_varint(&rest, &number, &bad)) {
        if (shape->rank == RY_MAX_RANK) {
            return ry_fail(d->reader->error, RYND_ERROR_UNSUPPORTED,
                           "tensor '%s' has more than %d dimensions", d->tensor->name, RY_MAX_RANK);
        }
        if (number > INT64_MAX) {
            return ry_fail(d->reader->error, RYND_ERROR_SHAPE,
                           "tensor '%s': dimension %d is negative (%" PRId64 ")", d->tensor->name,
                           shape->rank, (int64_t)number);
        }
        shape->dim[shape->rank++] = (int64_t)number;
    }
    return bad ? fail(d, RYND_ERROR_FORMAT, "the dimensions are damaged") : RYND_OK;
}

static rynd_status read_type(decoder *d)
{
    d->tensor->dtype = ry_dtype_from_onnx(d->proto->data_type);
    if (d->tensor->dtype == RY_NONE) {
        return ry_fail(
            d->reader->error, RYND_ERROR_UNSUPPORTED,
            "tensor '%s' has the ONNX data type %d (%s), which rynd does not compute with",
            d->tensor->name, (int)d->proto->data_type, ry_onnx_type_name(d->proto->data_type));
    }
    int64_t bytes = ry_shape_bytes(&d->tensor->shape, d->tensor->dtype);
    d->elements = ry_shape_elements(&d->tensor->shape);
    if (bytes < 0 || d->elements < 0 || (uint64_t)bytes > SIZE_MAX) {
        char text[256];
        return ry_fail(d->reader->error, RYND_ERROR_SHAPE,
                       "tensor '%s' of shape %s: its size overflows 64 bits", d->tensor->name,
                       ry_shape_text(NULL, &d->tensor->shape, text, sizeof text));
    }
    d->bytes = (size_t)bytes;
    return RYND_OK;
}

static rynd_status wrong_size(const decoder *d, size_t have, size_t want, const char *unit)
{
    char text[256];
    return ry_fail(d->reader->error, RYND_ERROR_SHAPE,
                   "tensor '%s': its shape %s of %s needs %zu %s, but it has %zu", d->tensor->name,
                   ry_shape_text(NULL, &d->tensor->shape, text, sizeof text),
                   ry_dtype_name(d->tensor->dtype), want, unit, have);
}

static bool is_clean_bool(const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] > 1) {
            return false;
        }
    }
    return true;
}

/* Bytes in the machine's order: used in place unless the address or a bool needs mending. */
static rynd_status use_bytes(decoder *d, const uint8_t *data)
{
    size_t size = ry_dtype_size(d->tensor->dtype);
    bool mend = d->tensor->dtype == RY_bool && !is_clean_bool(data, d->bytes);
    bool odd = (uintptr_t)data % size != 0;
    if (!mend && (!odd || d->bytes > RY_ALIGNED_UP_TO)) {
        d->tensor->data = data;
        d->tensor->unaligned = odd;
        return RYND_OK;
    }
    uint8_t *copy = ry_arena_take(d->arena, d->bytes, 1);
    if (!copy) {
        return ry_fail_memory(d->reader->error);
    }
    memcpy(copy, data, d->bytes);
    for (size_t i = 0; mend && i < d->bytes; i++) {
        copy[i] = copy[i] != 0;
    }
    d->tensor->data = copy;
    return RYND_OK;
}

static const ry_packed *typed_data(const decoder *d)
{
    switch (d->tensor->dtype) {
    case RY_f32: return &d->proto->float_data;
    case RY_f64: return &d->proto->double_data;
    case RY_i64: return &d->proto->int64_data;
    case RY_u32:
    case RY_u64: return &d->proto->uint64_data;
    default: return &d->proto->int32_data;
    }
}

static void store_element(ry_dtype dtype, void *data, int64_t i, uint64_t number)
{
    if (dtype == RY_f16 || dtype == RY_bf16) {
        uint16_t bits = (uint16_t)number;
        memcpy((uint8_t *)data + i * 2, &bits, sizeof bits);
    } else {
        ry_set_i64(dtype, data, i, (int64_t)number);
    }
}

static rynd_status decode_varints(decoder *d, ry_slice bytes)
{
    size_t count = ry_packed_count_varints(bytes);
    if ((int64_t)count != d->elements) {
        return wrong_size(d, count, (size_t)d->elements, "numbers");
    }
    uint8_t *data = ry_arena_take(d->arena, d->bytes, 1);
    if (!data) {
        return ry_fail_memory(d->reader->error);
    }
    uint64_t number;
    bool bad = false;
    for (int64_t i = 0; ry_packed_varint(&bytes, &number, &bad); i++) {
        store_element(d->tensor->dtype, data, i, number);
    }
    d->tensor->data = data;
    return bad ? fail(d, RYND_ERROR_FORMAT, "the numbers are damaged") : RYND_OK;
}

typedef struct external_data {
    const char *location;
    uint64_t offset, length;
    bool has_length;
} external_data;

static bool parse_size(const char *text, uint64_t *number)
{
    uint64_t n = 0;
    for (const char *c = text; *c; c++) {
        if (*c < '0' || *c > '9' || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(*c - '0'), &n)) {
            return false;
        }
    }
    *number = n;
    return *text != '\0';
}

static rynd_status read_external(decoder *d, external_data *external)
{
    for (size_t i = 0; i < d->proto->external_data.count; i++) {
        ry_onnx_StringStringEntryProto entry;
        const char *value;
        RY_TRY(RY_READER_DECODE(d->reader, StringStringEntryProto, d->proto->external_data.at[i],
                                &entry));
        RY_TRY(ry_reader_text(d->reader, entry.value, &value));
        bool good = true;
        if (ry_slice_is(entry.key, "location")) {
            external->location = value;
        } else if (ry_slice_is(entry.key, "offset")) {
            good = parse_size(value, &external->offset);
        } else if (ry_slice_is(entry.key, "length")) {
            good = external->has_length = parse_size(value, &external->length);
        }
        if (!good) {
            return fail(d, RYND_ERROR_FORMAT,
                        "the offset or length of its external data is not a number");
        }
    }
    return external->location
               ? RYND_OK
               : fail(d, RYND_ERROR_FORMAT, "its data is external, but no location is given");
}

static rynd_status use_external(decoder *d)
{
    ry_reader *reader = d->reader;
    external_data external = {0};
    const ry_mapping *mapping = NULL;
    RY_TRY(read_external(d, &external));
    if (!reader->folder) {
        return fail(d, RYND_ERROR_UNSUPPORTED,
                    "its data is in another file, which a model in memory may not name");
    }
    rynd_status status =
        ry_mapping_open_inside(reader->folder, external.location, reader->allocator,
                               reader->mappings, &mapping, reader->error);
    if (status != RYND_OK) {
        ry_error_prefix(reader->error, "tensor '%s': ", d->tensor->name);
        return status;
    }
    if (external.has_length && external.length != d->bytes) {
        return wrong_size(d, (size_t)external.length, d->bytes, "bytes");
    }
    if (external.offset > mapping->size || d->bytes > mapping->size - external.offset) {
        return ry_fail(reader->error, RYND_ERROR_FORMAT,
                       "tensor '%s': its data (%zu bytes from offset %" PRIu64
                       ") exceeds the file %s (%zu bytes)",
                       d->tensor->name, d->bytes, external.offset, mapping->path, mapping->size);
    }
    return use_bytes(d, (const uint8_t *)mapping->data + external.offset);
}

static rynd_status read_data(decoder *d)
{
    static const uint8_t nothing[8];
    if (d->proto->data_location == ry_onnx_TensorProto_DataLocation_EXTERNAL) {
        return use_external(d);
    }
    if (ry_slice_present(d->proto->raw_data) && (d->proto->raw_data.size || d->bytes == 0)) {
        if (d->proto->raw_data.size != d->bytes) {
            return wrong_size(d, d->proto->raw_data.size, d->bytes, "bytes");
        }
        d->tensor->data = nothing;
        return d->bytes ? use_bytes(d, d->proto->raw_data.data) : RYND_OK;
    }
    ry_slice bytes = typed_data(d)->bytes;
    if (!d->bytes && !bytes.size) {
        d->tensor->data = nothing;
        return RYND_OK;
    }
    if (d->tensor->dtype != RY_f32 && d->tensor->dtype != RY_f64) {
        return decode_varints(d, bytes);
    }
    if (bytes.size != d->bytes) {
        return wrong_size(d, bytes.size, d->bytes, "bytes");
    }
    return use_bytes(d, bytes.data);
}

rynd_status ry_reader_tensor(ry_reader *reader, ry_slice bytes, const char *what, ry_arena *arena,
                             ry_tensor_record *tensor)
{
    ry_onnx_TensorProto proto;
    *tensor = (ry_tensor_record){.name = what};
    RY_TRY(RY_READER_DECODE(reader, TensorProto, bytes, &proto));
    if (proto.name.size) {
        RY_TRY(ry_reader_text(reader, proto.name, &tensor->name));
    }
    decoder d = {.reader = reader, .arena = arena, .proto = &proto, .tensor = tensor};
    RY_TRY(read_dims(&d));
    RY_TRY(read_type(&d));
    return read_data(&d);
}
