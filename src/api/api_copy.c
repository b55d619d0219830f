/* SPDX-License-Identifier: Apache-2.0 */
/* Copies and fills of device memory in a stream. */
#include "api/api_buffer.h"
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/api_stream.h"
#include "api/handles.h"

#include <stdio.h>
#include <string.h>

static const ry_device *device_of(const rynd_buffer *buffer)
{
    return buffer->context->device;
}

/* Checks the range of a buffer of the stream's context. */
static rynd_status check(const rynd_stream *stream, const rynd_buffer *buffer, size_t offset,
                         size_t size, ry_error *error)
{
    RY_TRY(ry_api_buffer_range(buffer, offset, size, error));
    return buffer->context == stream->context
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT,
                         "the buffer is of another context than the stream");
}

/* Either `from` or `to` is NULL. */
static rynd_status transfer(const rynd_stream *stream, const rynd_buffer *buffer, size_t offset,
                            const void *from, void *to, size_t size, ry_error *error)
{
    const ry_device_table *table = stream->context->device->table;
    const ry_pointer pointer = {buffer->buffer, offset};
    RY_TRY(check(stream, buffer, offset, size, error));
    return from ? table->upload(stream->stream, pointer, from, size, error)
                : table->download(stream->stream, to, pointer, size, error);
}

rynd_status rynd_buffer_write_async(rynd_stream *stream, rynd_buffer *buffer, size_t offset,
                                    const void *host, size_t size)
{
    RY_API_REQUIRE(stream, buffer, host);
    ry_error error = {""};
    return ry_api_end(transfer(stream, buffer, offset, host, NULL, size, &error), &error);
}

rynd_status rynd_buffer_read_async(rynd_stream *stream, const rynd_buffer *buffer, size_t offset,
                                   void *host, size_t size)
{
    RY_API_REQUIRE(stream, buffer, host);
    ry_error error = {""};
    return ry_api_end(transfer(stream, buffer, offset, NULL, host, size, &error), &error);
}

/* A copy's two ends. */
typedef struct copy_ends {
    rynd_stream *stream;
    const rynd_buffer *to, *from;
    size_t to_offset, from_offset, size;
} copy_ends;

static bool overlap(const copy_ends *c)
{
    const ry_device *device = device_of(c->to);
    if (device->host_memory != device_of(c->from)->host_memory) {
        return false;
    }
    uintptr_t to = c->to_offset, from = c->from_offset;
    if (device->host_memory) {
        to += (uintptr_t)device->table->buffer_address(c->to->buffer);
        from += (uintptr_t)device->table->buffer_address(c->from->buffer);
    } else if (device->table->buffer_native(c->to->buffer) !=
               device_of(c->from)->table->buffer_native(c->from->buffer)) {
        return false;
    }
    return to < from + c->size && from < to + c->size;
}

static rynd_status stage_through(const copy_ends *c, void *host, ry_error *error)
{
    if (c->from->context == c->stream->context) {
        RY_TRY(transfer(c->stream, c->from, c->from_offset, NULL, host, c->size, error));
        RY_TRY(c->stream->context->device->table->synchronize(c->stream->stream, error));
        return ry_api_transfer(c->to, c->to_offset, host, NULL, c->size, error);
    }
    RY_TRY(ry_api_transfer(c->from, c->from_offset, NULL, host, c->size, error));
    RY_TRY(transfer(c->stream, c->to, c->to_offset, host, NULL, c->size, error));
    return c->stream->context->device->table->synchronize(c->stream->stream, error);
}

static rynd_status copy_staged(const copy_ends *c, ry_error *error)
{
    ry_device *device = c->stream->context->device;
    void *host;
    RY_TRY(device->table->host_take(device, c->size, &host, error));
    const rynd_status status = stage_through(c, host, error);
    device->table->host_give_back(device, host);
    return status;
}

static char *host_address(const rynd_buffer *buffer, size_t offset)
{
    return (char *)device_of(buffer)->table->buffer_address(buffer->buffer) + offset;
}

/* Between two contexts: directly where one end is host memory. */
static rynd_status copy_across(const copy_ends *c, ry_error *error)
{
    const bool to_here = c->to->context == c->stream->context,
               from_here = c->from->context == c->stream->context;
    if (!to_here && !from_here) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "neither buffer is of the stream's context");
    }
    if (to_here && device_of(c->from)->host_memory) {
        return transfer(c->stream, c->to, c->to_offset, host_address(c->from, c->from_offset), NULL,
                        c->size, error);
    }
    if (from_here && device_of(c->to)->host_memory) {
        return transfer(c->stream, c->from, c->from_offset, NULL, host_address(c->to, c->to_offset),
                        c->size, error);
    }
    return copy_staged(c, error);
}

static rynd_status copy(const copy_ends *c, ry_error *error)
{
    RY_TRY(ry_api_buffer_range(c->to, c->to_offset, c->size, error));
    RY_TRY(ry_api_buffer_range(c->from, c->from_offset, c->size, error));
    if (c->size == 0) {
        return RYND_OK;
    }
    if (overlap(c)) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "%zu bytes at %zu and at %zu of one buffer overlap", c->size, c->from_offset,
                       c->to_offset);
    }
    if (c->to->context != c->from->context) {
        return copy_across(c, error);
    }
    RY_TRY(check(c->stream, c->to, c->to_offset, c->size, error));
    return device_of(c->to)->table->copy(
        c->stream->stream, (ry_pointer){c->to->buffer, c->to_offset},
        (ry_pointer){c->from->buffer, c->from_offset}, c->size, error);
}

rynd_status rynd_buffer_copy_async(rynd_stream *stream, rynd_buffer *to, size_t to_offset,
                                   const rynd_buffer *from, size_t from_offset, size_t size)
{
    RY_API_REQUIRE(stream, to, from);
    ry_error error = {""};
    const copy_ends ends = {stream, to, from, to_offset, from_offset, size};
    return ry_api_end(copy(&ends, &error), &error);
}

static rynd_status fill(const rynd_stream *stream, const rynd_buffer *buffer, size_t offset,
                        size_t size, const ry_pattern *pattern, ry_error *error)
{
    RY_TRY(check(stream, buffer, offset, size, error));
    if (offset % pattern->size || size % pattern->size) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "%zu bytes at %zu are no multiples of the pattern's %u bytes", size, offset,
                       pattern->size);
    }
    return stream->context->device->table->fill(
        stream->stream, (ry_pointer){buffer->buffer, offset}, *pattern, size, error);
}

rynd_status rynd_buffer_fill_async(rynd_stream *stream, rynd_buffer *buffer, size_t offset,
                                   size_t size, const void *pattern, size_t pattern_size)
{
    RY_API_REQUIRE(stream, buffer, pattern);
    ry_error error = {""};
    ry_pattern bytes = {{0}, (unsigned)pattern_size};
    if (pattern_size != 1 && pattern_size != 2 && pattern_size != 4 && pattern_size != 8) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "pattern_size is %zu: give 1, 2, 4 or 8", pattern_size),
                          &error);
    }
    memcpy(bytes.byte, pattern, pattern_size);
    return ry_api_end(fill(stream, buffer, offset, size, &bytes, &error), &error);
}

/* ---- tensors ---- */

enum { DIMS = 24 * RYND_MAX_RANK, TEXT = 2 * DIMS + 128 };

/* "2x3:f32"; "scalar:f32". */
static void print_tensor(const rynd_tensor *tensor, char *text, size_t room)
{
    size_t at = 0;
    for (int i = 0; i < tensor->rank; i++) {
        at += (size_t)snprintf(text + at, room - at, "%s%lld", i ? "x" : "",
                               (long long)tensor->dim[i]);
    }
    snprintf(text + at, room - at, "%s:%s", tensor->rank ? "" : "scalar",
             rynd_dtype_name(tensor->dtype));
}

/* The problem of a copy: a move, or the cast of an expression. */
static void print_copy(const rynd_tensor *to, const rynd_tensor *from, char *text)
{
    char x[DIMS], y[DIMS];
    print_tensor(from, x, sizeof x);
    print_tensor(to, y, sizeof y);
    if (to->dtype == from->dtype) {
        snprintf(text, TEXT, "copy x0=%s y0=%s", x, y);
    } else {
        snprintf(text, TEXT, "expr x0=%s y0=%s program='cast(x0, %s)'", x, y,
                 rynd_dtype_name(to->dtype));
    }
}

static rynd_status check_tensors(const rynd_tensor *to, const rynd_tensor *from, ry_error *error)
{
    ry_tensor taken;
    RY_TRY(ry_api_take_tensor(to, &taken, error));
    RY_TRY(ry_api_take_tensor(from, &taken, error));
    const bool typed = to->dtype != RYND_DTYPE_NONE && from->dtype != RYND_DTYPE_NONE;
    const bool same = to->rank == from->rank &&
                      memcmp(to->dim, from->dim, (size_t)to->rank * sizeof *to->dim) == 0;
    return !typed ? ry_fail(error, RYND_ERROR_ARGUMENT, "a tensor's dtype is NONE")
           : same ? RYND_OK
                  : ry_fail(error, RYND_ERROR_SHAPE, "the tensors' dims differ");
}

rynd_status rynd_tensor_copy_async(rynd_stream *stream, const rynd_tensor *to,
                                   const rynd_operand *to_memory, const rynd_tensor *from,
                                   const rynd_operand *from_memory)
{
    RY_API_REQUIRE(stream, to, to_memory, from, from_memory);
    ry_error error = {""};
    char text[TEXT];
    rynd_op *op;
    const rynd_status status = check_tensors(to, from, &error);
    if (status != RYND_OK) {
        ry_error_prefix(&error, "rynd_tensor_copy_async: ");
        return ry_api_end(status, &error);
    }
    rynd_tensor x = *from;
    x.data = NULL;
    const rynd_op_options options = RYND_SIZED(rynd_op_options, .inputs = &x, .outputs = to);
    print_copy(to, from, text);
    RY_TRY(rynd_op_create_cached(stream->context, text, &options, &op));
    const rynd_status run = rynd_op_run_async(op, from_memory, to_memory, NULL, stream);
    rynd_op_destroy(op);
    return run;
}
