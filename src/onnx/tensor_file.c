/* SPDX-License-Identifier: Apache-2.0 */
/* TensorProto files (.pb): reading one whole, and writing one. */
#include "onnx/onnx.h"
#include "onnx/proto.h"

#include <string.h>

/* Field numbers of TensorProto. */
enum { FIELD_DIMS = 1, FIELD_DATA_TYPE = 2, FIELD_NAME = 8, FIELD_RAW_DATA = 9 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

rynd_status ry_onnx_tensor_read(const void *data, size_t size, ry_arena *arena, const char **name,
                                ry_tensor *tensor, ry_error *error)
{
    ry_error own;
    ry_arena scratch;
    ry_tensor_record record;
    ry_arena_init(&scratch, arena->allocator);
    ry_reader reader = {.source = {.bytes = {data, size}, .arena = &scratch},
                        .allocator = arena->allocator,
                        .error = error ? error : &own};
    rynd_status status = ry_reader_tensor(&reader, reader.source.bytes, "", &scratch, &record);
    if (status == RYND_OK) {
        *tensor = ry_tensor_row_major(record.dtype, &record.shape, NULL);
        size_t bytes = ry_tensor_bytes(tensor);
        tensor->data = ry_arena_take(arena, bytes, 1);
        *name = ry_arena_string(arena, record.name, strlen(record.name));
        if (!tensor->data || !*name) {
            status = ry_fail_memory(error);
        } else if (bytes) {
            memcpy(tensor->data, record.data, bytes);
        }
    }
    ry_arena_free(&scratch);
    return status;
}

/* Counts what it would write when `at` is NULL. */
typedef struct writer {
    uint8_t *at;
    size_t size;
} writer;

static void put(writer *w, const void *bytes, size_t count)
{
    if (w->at && count) {
        memcpy(w->at + w->size, bytes, count);
    }
    w->size += count;
}

static void put_varint(writer *w, uint64_t number)
{
    uint8_t bytes[10];
    size_t count = 0;
    do {
        bytes[count++] = (uint8_t)(number > 127 ? (number & 127) | 128 : number);
        number >>= 7;
    } while (number);
    put(w, bytes, count);
}

static void put_tag(writer *w, unsigned field, unsigned wire)
{
    put_varint(w, field << 3 | wire);
}

/* All but the data. */
static void put_head(writer *w, const char *name, const ry_tensor *tensor, size_t bytes)
{
    for (int i = 0; i < tensor->rank; i++) {
        put_tag(w, FIELD_DIMS, WIRE_VARINT);
        put_varint(w, (uint64_t)tensor->dim[i]);
    }
    put_tag(w, FIELD_DATA_TYPE, WIRE_VARINT);
    put_varint(w, (uint64_t)ry_dtype_to_onnx((ry_dtype)tensor->dtype));
    if (name && *name) {
        put_tag(w, FIELD_NAME, WIRE_BYTES);
        put_varint(w, strlen(name));
        put(w, name, strlen(name));
    }
    put_tag(w, FIELD_RAW_DATA, WIRE_BYTES);
    put_varint(w, bytes);
}

rynd_status ry_onnx_tensor_write(const char *name, const ry_tensor *tensor, ry_arena *arena,
                                 const void **data, size_t *size, ry_error *error)
{
    ry_shape shape = ry_tensor_shape(tensor);
    size_t bytes = ry_tensor_bytes(tensor);
    ry_tensor packed =
        ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, ry_arena_take(arena, bytes, 1));
    writer w = {0};
    put_head(&w, name, tensor, bytes);
    w.at = ry_arena_take(arena, w.size + bytes, 1);
    if (!packed.data || !w.at) {
        return ry_fail_memory(error);
    }
    ry_tensor_copy(&packed, tensor);
    w.size = 0;
    put_head(&w, name, tensor, bytes);
    put(&w, packed.data, bytes);
    *data = w.at;
    *size = w.size;
    return RYND_OK;
}
