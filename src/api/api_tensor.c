/* SPDX-License-Identifier: Apache-2.0 */
/* Public tensors: views of memory, and TensorProto files. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"

#include <string.h>

_Static_assert((int)RYND_DTYPE_F32 == (int)RY_f32 && (int)RYND_DTYPE_BOOL == (int)RY_bool,
               "the public and the internal element types are one list");

static bool known(rynd_dtype dtype)
{
    return (unsigned)dtype < RY_DTYPES;
}

size_t rynd_dtype_size(rynd_dtype dtype)
{
    return known(dtype) ? ry_dtype_size((ry_dtype)dtype) : 0;
}

const char *rynd_dtype_name(rynd_dtype dtype)
{
    return known(dtype) ? ry_dtype_name((ry_dtype)dtype) : "none";
}

rynd_tensor rynd_tensor_of(void *data, rynd_dtype dtype, int rank, const int64_t *dim)
{
    const rynd_tensor none = {.dtype = RYND_DTYPE_NONE};
    if (rank < 0 || rank > RYND_MAX_RANK || !known(dtype) || (rank > 0 && !dim)) {
        return none;
    }
    ry_shape shape = ry_shape_of(rank, dim);
    return ry_shape_bytes(&shape, (ry_dtype)dtype) < 0
               ? none
               : ry_tensor_row_major((ry_dtype)dtype, &shape, data);
}

int64_t rynd_tensor_elements(const rynd_tensor *tensor)
{
    if (!tensor || tensor->rank < 0 || tensor->rank > RYND_MAX_RANK) {
        return -1;
    }
    const ry_shape shape = ry_tensor_shape(tensor);
    return ry_shape_elements(&shape);
}

/* The tensor's data, then its name, in one block: rynd_tensor_free needs the data's address only.
 */
static rynd_status keep_tensor(rynd_context *context, const ry_tensor *read, const char *read_name,
                               rynd_tensor *tensor, const char **name, ry_error *error)
{
    size_t bytes = ry_tensor_bytes(read), length = strlen(read_name) + 1;
    char *block = ry_allocate(&context->allocator, bytes + length);
    if (!block) {
        return ry_fail_memory(error);
    }
    if (bytes) {
        memcpy(block, read->data, bytes);
    }
    memcpy(block + bytes, read_name, length);
    *tensor = *read;
    tensor->data = block;
    if (name) {
        *name = block + bytes;
    }
    return RYND_OK;
}

rynd_status rynd_tensor_read_pb(rynd_context *context, const void *data, size_t size,
                                rynd_tensor *tensor, const char **name)
{
    RY_API_REQUIRE(context, data, tensor);
    ry_error error = {""};
    ry_arena arena;
    ry_arena_init(&arena, &context->allocator);
    ry_tensor read;
    const char *read_name = NULL;
    rynd_status status = ry_onnx_tensor_read(data, size, &arena, &read_name, &read, &error);
    if (status == RYND_OK) {
        status = keep_tensor(context, &read, read_name ? read_name : "", tensor, name, &error);
    }
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

void rynd_tensor_free(rynd_context *context, rynd_tensor *tensor)
{
    if (context && tensor) {
        ry_release(&context->allocator, tensor->data);
        *tensor = (rynd_tensor){.dtype = RYND_DTYPE_NONE};
    }
}

static rynd_status write_pb(rynd_context *context, const char *name, const rynd_tensor *given,
                            void **data, size_t *size, ry_error *error)
{
    ry_tensor tensor;
    RY_TRY(ry_api_take_tensor(given, &tensor, error));
    if (!ry_tensor_present(&tensor) || (!tensor.data && ry_tensor_count(&tensor) > 0)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "there is no %s to write",
                       ry_tensor_present(&tensor) ? "data" : "tensor");
    }
    ry_arena arena;
    ry_arena_init(&arena, &context->allocator);
    const void *written = NULL;
    size_t bytes = 0;
    rynd_status status = ry_onnx_tensor_write(name, &tensor, &arena, &written, &bytes, error);
    if (status == RYND_OK) {
        *data = ry_allocate(&context->allocator, bytes);
        status = *data ? RYND_OK : ry_fail_memory(error);
    }
    if (status == RYND_OK) {
        memcpy(*data, written, bytes);
        *size = bytes;
    }
    ry_arena_free(&arena);
    return status;
}

rynd_status rynd_tensor_write_pb(rynd_context *context, const char *name, const rynd_tensor *tensor,
                                 void **data, size_t *size)
{
    RY_API_REQUIRE(context, tensor, data, size);
    ry_error error = {""};
    *data = NULL;
    *size = 0;
    const rynd_status status = write_pb(context, name, tensor, data, size, &error);
    if (status != RYND_OK) {
        ry_error_prefix(&error, "tensor '%s': ", name ? name : "");
    }
    return ry_api_end(status, &error);
}

void rynd_memory_free(rynd_context *context, void *memory)
{
    if (context) {
        ry_release(&context->allocator, memory);
    }
}
