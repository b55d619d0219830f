/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes TensorProto files (.pb) as a whole. */
#include "onnx/onnx.h"
#include "onnx/proto.h"
#include "onnx/wire.h"

#include <string.h>

/* Field numbers of TensorProto. */
enum { FIELD_DIMS = 1, FIELD_DATA_TYPE = 2, FIELD_NAME = 8, FIELD_RAW_DATA = 9 };

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

/* All but the data. */
static void put_head(ry_wire_out *out, const char *name, const ry_tensor *tensor, size_t bytes)
{
    for (int i = 0; i < tensor->rank; i++) {
        ry_wire_put_number(out, FIELD_DIMS, (uint64_t)tensor->dim[i]);
    }
    ry_wire_put_number(out, FIELD_DATA_TYPE, (uint64_t)ry_dtype_to_onnx((ry_dtype)tensor->dtype));
    if (name && *name) {
        ry_wire_put_text(out, FIELD_NAME, name);
    }
    ry_wire_put_head(out, FIELD_RAW_DATA, bytes);
}

static bool put_memory(void *user, const void *bytes, size_t count)
{
    uint8_t **at = user;
    memcpy(*at, bytes, count);
    *at += count;
    return true;
}

rynd_status ry_onnx_tensor_write(const char *name, const ry_tensor *tensor, ry_arena *arena,
                                 const void **data, size_t *size, ry_error *error)
{
    ry_shape shape = ry_tensor_shape(tensor);
    size_t bytes = ry_tensor_bytes(tensor);
    ry_tensor packed =
        ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, ry_arena_take(arena, bytes, 1));
    ry_wire_out count = {0};
    put_head(&count, name, tensor, bytes);
    *size = (size_t)count.size + bytes;
    uint8_t *at = ry_arena_take(arena, *size, 1);
    if (!packed.data || !at) {
        return ry_fail_memory(error);
    }
    *data = at;
    ry_tensor_copy(&packed, tensor);
    ry_wire_out out = {.put = put_memory, .user = &at};
    put_head(&out, name, tensor, bytes);
    ry_wire_put(&out, packed.data, bytes);
    return RYND_OK;
}
