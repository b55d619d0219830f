/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions of device memory, streams and events with each of their pointers NULL. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "null_arguments.h"

void null_buffers(void **state)
{
    (void)state;
    char host[64] = {0};
    void *memory = NULL;
    rynd_buffer *buffer = NULL, *made = NULL;
    rynd_device_memory figures = RYND_SIZED(rynd_device_memory);
    assert_int_equal(rynd_buffer_create(context, sizeof host, &buffer), RYND_OK);
    REFUSES(rynd_buffer_create, context, NULL, 8, &made);
    REFUSES(rynd_buffer_create, buffer, context, 8, NULL);
    REFUSES(rynd_buffer_import, context, NULL, host, 8, &made);
    REFUSES(rynd_buffer_import, native, context, NULL, 8, &made);
    REFUSES(rynd_buffer_import, buffer, context, host, 8, NULL);
    IGNORES(rynd_buffer_destroy, buffer, NULL);
    TAKES(rynd_buffer_size, buffer, rynd_buffer_size(NULL) == 0);
    TAKES(rynd_buffer_native, buffer, rynd_buffer_native(NULL) == NULL);
    TAKES(rynd_context_native, context, rynd_context_native(NULL) == NULL);
    REFUSES(rynd_buffer_write, buffer, NULL, 0, host, 8);
    REFUSES(rynd_buffer_write, host, buffer, 0, NULL, 8);
    REFUSES(rynd_buffer_read, buffer, NULL, 0, host, 8);
    REFUSES(rynd_buffer_read, host, buffer, 0, NULL, 8);
    REFUSES(rynd_host_allocate, context, NULL, 8, &memory);
    REFUSES(rynd_host_allocate, memory, context, 8, NULL);
    IGNORES(rynd_host_free, context, NULL, NULL);
    IGNORES(rynd_host_free, memory, context, NULL);
    REFUSES(rynd_context_get_memory, context, NULL, &figures);
    REFUSES(rynd_context_get_memory, memory, context, NULL);
    IGNORES(rynd_context_trim, context, NULL, 0);
    rynd_buffer_destroy(buffer);
}

void null_bound_buffers(void **state)
{
    (void)state;
    rynd_buffer *buffer = NULL;
    assert_int_equal(rynd_buffer_create(context, 64, &buffer), RYND_OK);
    REFUSES(rynd_session_bind_buffer, session, NULL, "x", buffer, 0);
    REFUSES(rynd_session_bind_buffer, name, session, NULL, buffer, 0);
    REFUSES(rynd_session_bind_buffer, buffer, session, "x", NULL, 0);
    REFUSES(rynd_session_bind_input_buffer, session, NULL, 0, buffer, 0);
    REFUSES(rynd_session_bind_input_buffer, buffer, session, 0, NULL, 0);
    REFUSES(rynd_session_bind_output_buffer, session, NULL, 0, buffer, 0);
    REFUSES(rynd_session_bind_output_buffer, buffer, session, 0, NULL, 0);
    rynd_buffer_destroy(buffer);
}

void null_streams(void **state)
{
    (void)state;
    rynd_stream *stream = NULL;
    rynd_event *event = NULL;
    assert_int_equal(rynd_event_create(context, &event), RYND_OK);
    assert_int_equal(rynd_stream_create(context, &stream), RYND_OK);
    REFUSES(rynd_stream_create, context, NULL, &stream);
    REFUSES(rynd_stream_create, stream, context, NULL);
    IGNORES(rynd_stream_destroy, stream, NULL);
    REFUSES(rynd_stream_wait_event, stream, NULL, event);
    REFUSES(rynd_stream_wait_event, event, stream, NULL);
    REFUSES(rynd_stream_wait_stream, stream, NULL, stream);
    REFUSES(rynd_stream_wait_stream, other, stream, NULL);
    REFUSES(rynd_stream_record, stream, NULL, event);
    REFUSES(rynd_stream_record, event, stream, NULL);
    REFUSES(rynd_stream_synchronize, stream, NULL);
    REFUSES(rynd_stream_profile, stream, NULL, 1);
    rynd_event_destroy(event);
    rynd_stream_destroy(stream);
}

void null_op_runs(void **state)
{
    (void)state;
    rynd_stream *stream = NULL;
    rynd_op *relu = NULL;
    rynd_tensor tensor;
    float x = 1;
    const rynd_operand value = {.value = &x};
    rynd_operand none = {.buffer = NULL};
    assert_int_equal(rynd_stream_create(context, &stream), RYND_OK);
    assert_int_equal(
        rynd_op_create(context, "expr x0=1:f32 y0=1:f32 program='max(x0, 0)'", NULL, &relu),
        RYND_OK);
    REFUSES(rynd_op_run_async, op, NULL, &value, &none, NULL, stream);
    REFUSES(rynd_op_run_async, inputs, relu, NULL, &none, NULL, stream);
    REFUSES(rynd_op_run_async, outputs, relu, &value, NULL, NULL, stream);
    REFUSES(rynd_op_run_async, stream, relu, &value, &none, NULL, NULL);
    assert_int_equal(rynd_buffer_create(context, 4, &none.buffer), RYND_OK);
    TAKES(rynd_op_run_async, workspace,
          rynd_op_run_async(relu, &value, &none, NULL, stream) == RYND_OK);
    REFUSES(rynd_op_wait, op, NULL);
    TAKES(rynd_op_workspace, op, rynd_op_workspace(NULL) == 0);
    TAKES(rynd_op_in_place, op, rynd_op_in_place(NULL, 0, 0) == 0);
    REFUSES(rynd_op_get_result, op, NULL, 0, &tensor);
    REFUSES(rynd_op_get_result, tensor, relu, 0, NULL);
    rynd_buffer_destroy(none.buffer);
    rynd_op_destroy(relu);
    rynd_stream_destroy(stream);
}

void null_op_cache(void **state)
{
    (void)state;
    rynd_op *kept = NULL;
    rynd_op_cache_info info = RYND_SIZED(rynd_op_cache_info);
    const char *relu = "expr x0=1:f32 y0=1:f32 program='max(x0, 0)'";
    const rynd_op_options options = RYND_SIZED(rynd_op_options);
    REFUSES(rynd_op_create_cached, context, NULL, relu, &options, &kept);
    REFUSES(rynd_op_create_cached, problem, context, NULL, &options, &kept);
    REFUSES(rynd_op_create_cached, op, context, relu, &options, NULL);
    TAKES(rynd_op_create_cached, options,
          rynd_op_create_cached(context, relu, NULL, &kept) == RYND_OK);
    rynd_op_destroy(kept);
    REFUSES(rynd_context_get_op_cache, context, NULL, &info);
    REFUSES(rynd_context_get_op_cache, info, context, NULL);
    REFUSES(rynd_context_limit_op_cache, context, NULL, 0, 0);
}

void null_copies(void **state)
{
    (void)state;
    char host[8] = {0};
    rynd_stream *stream = NULL;
    rynd_buffer *a = NULL, *b = NULL;
    const rynd_tensor tensor = rynd_tensor_of(NULL, RYND_DTYPE_F32, 0, NULL);
    assert_int_equal(rynd_stream_create(context, &stream), RYND_OK);
    assert_int_equal(rynd_buffer_create(context, 8, &a), RYND_OK);
    assert_int_equal(rynd_buffer_create(context, 8, &b), RYND_OK);
    const rynd_operand at = {.buffer = a};
    REFUSES(rynd_buffer_write_async, stream, NULL, a, 0, host, 8);
    REFUSES(rynd_buffer_write_async, buffer, stream, NULL, 0, host, 8);
    REFUSES(rynd_buffer_write_async, host, stream, a, 0, NULL, 8);
    REFUSES(rynd_buffer_read_async, stream, NULL, a, 0, host, 8);
    REFUSES(rynd_buffer_read_async, buffer, stream, NULL, 0, host, 8);
    REFUSES(rynd_buffer_read_async, host, stream, a, 0, NULL, 8);
    REFUSES(rynd_buffer_copy_async, stream, NULL, a, 0, b, 0, 8);
    REFUSES(rynd_buffer_copy_async, to, stream, NULL, 0, b, 0, 8);
    REFUSES(rynd_buffer_copy_async, from, stream, a, 0, NULL, 0, 8);
    REFUSES(rynd_buffer_fill_async, stream, NULL, a, 0, 8, host, 1);
    REFUSES(rynd_buffer_fill_async, buffer, stream, NULL, 0, 8, host, 1);
    REFUSES(rynd_buffer_fill_async, pattern, stream, a, 0, 8, NULL, 1);
    REFUSES(rynd_tensor_copy_async, stream, NULL, &tensor, &at, &tensor, &at);
    REFUSES(rynd_tensor_copy_async, to, stream, NULL, &at, &tensor, &at);
    REFUSES(rynd_tensor_copy_async, to_memory, stream, &tensor, NULL, &tensor, &at);
    REFUSES(rynd_tensor_copy_async, from, stream, &tensor, &at, NULL, &at);
    REFUSES(rynd_tensor_copy_async, from_memory, stream, &tensor, &at, &tensor, NULL);
    rynd_buffer_destroy(a);
    rynd_buffer_destroy(b);
    rynd_stream_destroy(stream);
}

void null_events(void **state)
{
    (void)state;
    rynd_event *event = NULL;
    double seconds;
    int done;
    assert_int_equal(rynd_event_create(context, &event), RYND_OK);
    REFUSES(rynd_event_create, context, NULL, &event);
    REFUSES(rynd_event_create, event, context, NULL);
    IGNORES(rynd_event_destroy, event, NULL);
    REFUSES(rynd_event_wait, event, NULL);
    REFUSES(rynd_event_get_done, event, NULL, &done);
    REFUSES(rynd_event_get_done, done, event, NULL);
    REFUSES(rynd_event_get_elapsed, from, NULL, event, &seconds);
    REFUSES(rynd_event_get_elapsed, to, event, NULL, &seconds);
    REFUSES(rynd_event_get_elapsed, seconds, event, event, NULL);
    rynd_event_destroy(event);
}
