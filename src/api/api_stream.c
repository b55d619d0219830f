/* SPDX-License-Identifier: Apache-2.0 */
/* Streams of a context's device. */
#include "api/api_stream.h"

#include "api/api_check.h"
#include "api/api_event.h"
#include "api/api_status.h"
#include "api/handles.h"

static const ry_device_table *table_of(const rynd_stream *stream)
{
    return stream->context->device->table;
}

rynd_status ry_api_create_stream(rynd_context *context, rynd_stream **stream, ry_error *error)
{
    rynd_stream *s = ry_allocate_array(&context->allocator, 1, sizeof *s);
    if (!s) {
        return ry_fail_memory(error);
    }
    s->context = context;
    atomic_init(&s->holders, 1);
    const rynd_status status =
        context->device->table->stream_create(context->device, &s->stream, error);
    if (status != RYND_OK) {
        ry_release(&context->allocator, s);
        return status;
    }
    *stream = s;
    return RYND_OK;
}

rynd_status rynd_stream_create(rynd_context *context, rynd_stream **stream)
{
    RY_API_REQUIRE(context, stream);
    ry_error error = {""};
    *stream = NULL;
    return ry_api_end(ry_api_create_stream(context, stream, &error), &error);
}

rynd_stream *ry_api_hold_stream(rynd_stream *stream)
{
    atomic_fetch_add(&stream->holders, 1);
    return stream;
}

void ry_api_leave_stream(rynd_stream *stream)
{
    if (stream && atomic_fetch_sub(&stream->holders, 1) == 1) {
        table_of(stream)->stream_destroy(stream->context->device, stream->stream);
        ry_release(&stream->context->allocator, stream);
    }
}

void rynd_stream_destroy(rynd_stream *stream)
{
    if (stream) {
        (void)table_of(stream)->synchronize(stream->stream, NULL);
        ry_api_leave_stream(stream);
    }
}

rynd_status ry_api_check_stream(const rynd_stream *stream, const rynd_context *context,
                                ry_error *error)
{
    return stream->context == context
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "the stream is of another context");
}

static rynd_status check_event(const rynd_stream *stream, const rynd_event *event, ry_error *error)
{
    return event->context == stream->context
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_ARGUMENT, "the event is of another context");
}

rynd_status rynd_stream_wait_event(rynd_stream *stream, const rynd_event *event)
{
    RY_API_REQUIRE(stream, event);
    ry_error error = {""};
    rynd_status status = check_event(stream, event, &error);
    if (status == RYND_OK) {
        status = table_of(stream)->event_await(stream->stream, event->event, &error);
    }
    return ry_api_end(status, &error);
}

/* An event that is recorded now; the caller destroys it. */
static rynd_status mark(const rynd_stream *stream, ry_event **event, ry_error *error)
{
    const ry_device_table *table = table_of(stream);
    RY_TRY(table->event_create(stream->context->device, event, error));
    const rynd_status status = table->event_record(stream->stream, *event, error);
    if (status != RYND_OK) {
        table->event_destroy(stream->context->device, *event);
    }
    return status;
}

rynd_status ry_api_wait_stream(const rynd_stream *stream, ry_error *error)
{
    ry_event *event;
    RY_TRY(mark(stream, &event, error));
    const rynd_status status = table_of(stream)->event_synchronize(event, error);
    table_of(stream)->event_destroy(stream->context->device, event);
    return status;
}

rynd_status ry_api_follow_stream(rynd_stream *stream, const rynd_stream *other, ry_error *error)
{
    ry_event *event;
    RY_TRY(ry_api_check_stream(other, stream->context, error));
    RY_TRY(mark(other, &event, error));
    const rynd_status status = table_of(stream)->event_await(stream->stream, event, error);
    table_of(stream)->event_destroy(stream->context->device, event);
    return status;
}

rynd_status rynd_stream_wait_stream(rynd_stream *stream, rynd_stream *other)
{
    RY_API_REQUIRE(stream, other);
    ry_error error = {""};
    return ry_api_end(ry_api_follow_stream(stream, other, &error), &error);
}

rynd_status rynd_stream_record(rynd_stream *stream, rynd_event *event)
{
    RY_API_REQUIRE(stream, event);
    ry_error error = {""};
    rynd_status status = check_event(stream, event, &error);
    if (status == RYND_OK) {
        status = table_of(stream)->event_record(stream->stream, event->event, &error);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_stream_synchronize(rynd_stream *stream)
{
    RY_API_REQUIRE(stream);
    ry_error error = {""};
    return ry_api_end(table_of(stream)->synchronize(stream->stream, &error), &error);
}

rynd_status rynd_stream_profile(rynd_stream *stream, int on)
{
    RY_API_REQUIRE(stream);
    ry_error error = {""};
    const ry_device_table *table = table_of(stream);
    return ry_api_end(
        table->stream_time ? table->stream_time(stream->stream, on != 0, &error) : RYND_OK, &error);
}
