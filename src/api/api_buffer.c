/* SPDX-License-Identifier: Apache-2.0 */
/* Memory on the device, and host memory that it likes to copy from. */
#include "api/api_buffer.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/handles.h"

/* Takes the handle, then what `make` gives. */
static rynd_status create(rynd_context *context, size_t size, void *native, rynd_buffer **buffer,
                          ry_error *error)
{
    ry_device *device = context->device;
    if (size == 0) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "a buffer of 0 bytes");
    }
    rynd_buffer *b = ry_allocate_array(&context->allocator, 1, sizeof *b);
    if (!b) {
        return ry_fail_memory(error);
    }
    const rynd_status status =
        native ? device->table->buffer_import(device, native, size, &b->buffer, error)
               : device->table->buffer_create(device, size, &b->buffer, error);
    if (status != RYND_OK) {
        ry_release(&context->allocator, b);
        return status;
    }
    b->context = context;
    b->size = size;
    *buffer = b;
    return RYND_OK;
}

rynd_status rynd_buffer_create(rynd_context *context, size_t size, rynd_buffer **buffer)
{
    RY_API_REQUIRE(context, buffer);
    ry_error error = {""};
    *buffer = NULL;
    return ry_api_end(create(context, size, NULL, buffer, &error), &error);
}

rynd_status rynd_buffer_import(rynd_context *context, void *native, size_t size,
                               rynd_buffer **buffer)
{
    RY_API_REQUIRE(context, native, buffer);
    ry_error error = {""};
    *buffer = NULL;
    return ry_api_end(create(context, size, native, buffer, &error), &error);
}

void rynd_buffer_destroy(rynd_buffer *buffer)
{
    if (buffer) {
        ry_device *device = buffer->context->device;
        device->table->buffer_destroy(device, buffer->buffer);
        ry_release(&buffer->context->allocator, buffer);
    }
}

size_t rynd_buffer_size(const rynd_buffer *buffer)
{
    return buffer ? buffer->size : 0;
}

void *rynd_buffer_native(const rynd_buffer *buffer)
{
    return buffer ? buffer->context->device->table->buffer_native(buffer->buffer) : NULL;
}

void *rynd_context_native(const rynd_context *context)
{
    return context ? context->device->table->native(context->device) : NULL;
}

rynd_status ry_api_buffer_range(const rynd_buffer *buffer, size_t offset, size_t size,
                                ry_error *error)
{
    return offset > buffer->size || size > buffer->size - offset
               ? ry_fail(error, RYND_ERROR_ARGUMENT,
                         "%zu bytes at %zu do not fit into a buffer of %zu", size, offset,
                         buffer->size)
               : RYND_OK;
}

rynd_status ry_api_check_place(const rynd_context *context, const ry_tensor *tensor,
                               const rynd_buffer *buffer, size_t offset, ry_error *error)
{
    const size_t element = ry_dtype_size((ry_dtype)tensor->dtype);
    int64_t low = 0, high = 0;
    if (ry_tensor_count(tensor) > 0) {
        (void)ry_tensor_range(tensor, &low, &high); /* taken: it does not overflow */
    }
    if (offset < (size_t)-low) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "offset %zu: negative strides reach %zu bytes below it", offset,
                       (size_t)-low);
    }
    RY_TRY(ry_api_buffer_range(buffer, offset - (size_t)-low, (size_t)(high - low), error));
    if (offset % element) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "offset %zu is no multiple of %zu, the size of a %s", offset, element,
                       ry_dtype_name((ry_dtype)tensor->dtype));
    }
    return buffer->context == context
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "the buffer is of another context");
}

rynd_status ry_api_transfer(const rynd_buffer *buffer, size_t offset, const void *from, void *to,
                            size_t size, ry_error *error)
{
    ry_device *device = buffer->context->device;
    const ry_pointer pointer = {buffer->buffer, offset};
    RY_TRY(ry_api_buffer_range(buffer, offset, size, error));
    ry_stream *stream;
    RY_TRY(device->table->stream_create(device, &stream, error));
    rynd_status status = from ? device->table->upload(stream, pointer, from, size, error)
                              : device->table->download(stream, to, pointer, size, error);
    status = status == RYND_OK ? device->table->synchronize(stream, error) : status;
    device->table->stream_destroy(device, stream);
    return status;
}

rynd_status rynd_buffer_write(rynd_buffer *buffer, size_t offset, const void *host, size_t size)
{
    RY_API_REQUIRE(buffer, host);
    ry_error error = {""};
    return ry_api_end(ry_api_transfer(buffer, offset, host, NULL, size, &error), &error);
}

rynd_status rynd_buffer_read(const rynd_buffer *buffer, size_t offset, void *host, size_t size)
{
    RY_API_REQUIRE(buffer, host);
    ry_error error = {""};
    return ry_api_end(ry_api_transfer(buffer, offset, NULL, host, size, &error), &error);
}

rynd_status rynd_host_allocate(rynd_context *context, size_t size, void **memory)
{
    RY_API_REQUIRE(context, memory);
    ry_error error = {""};
    *memory = NULL;
    return ry_api_end(context->device->table->host_take(context->device, size, memory, &error),
                      &error);
}

void rynd_host_free(rynd_context *context, void *memory)
{
    if (context) {
        context->device->table->host_give_back(context->device, memory);
    }
}

rynd_status rynd_context_get_memory(const rynd_context *context, rynd_device_memory *memory)
{
    RY_API_REQUIRE(context, memory);
    ry_error error = {""};
    ry_device_figures figures;
    context->device->table->figures(context->device, &figures);
    const rynd_device_memory all = {
        .used = figures.used, .held = figures.held, .peak = figures.peak, .total = figures.total};
    return ry_api_end(ry_api_info(memory, &all, sizeof all, "rynd_device_memory", &error), &error);
}

void rynd_context_trim(rynd_context *context, size_t keep)
{
    if (context) {
        context->device->table->trim(context->device, keep);
    }
}
