/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: binding memory and running. */
#include "api/api_session.h"

#include "api/api_buffer.h"
#include "api/api_check.h"
#include "api/api_event.h"
#include "api/api_plan.h"
#include "api/api_status.h"
#include "api/api_stream.h"
#include "api/handles.h"
#include "graph/graph_names.h"

/* What is wrong with a node, or with the machine's memory, is of the model; the rest is the
 * caller's. */
static rynd_status end(const rynd_plan *plan, rynd_status status, ry_error *error, rynd_status also)
{
    if (plan->path && *plan->path && (status == RYND_ERROR_OUT_OF_MEMORY || status == also)) {
        ry_error_prefix(error, "%s: ", plan->path);
    }
    return ry_api_end(status, error);
}

rynd_status ry_api_end_run(const rynd_plan *plan, rynd_status status, ry_error *error)
{
    return end(plan, status, error, RYND_ERROR_SHAPE);
}

rynd_status rynd_session_create(const rynd_plan *plan, rynd_session **session)
{
    RY_API_REQUIRE(plan, session);
    *session = NULL;
    ry_error error = {""};
    rynd_session *s = ry_allocate_array(&plan->context->allocator, 1, sizeof *s);
    if (!s) {
        return end(plan, ry_fail_memory(&error), &error, RYND_ERROR_OUT_OF_MEMORY);
    }
    rynd_status status = ry_session_create(plan->plan, NULL, &s->running, &error);
    if (status != RYND_OK) {
        ry_release(&plan->context->allocator, s);
        return end(plan, status, &error, RYND_ERROR_OUT_OF_MEMORY);
    }
    s->plan = plan;
    *session = s;
    return RYND_OK;
}

void rynd_session_destroy(rynd_session *session)
{
    if (session) {
        ry_session_destroy(session->running);
        ry_release(&session->plan->context->allocator, session);
    }
}

/* An input or output of the model, by its role and index. */
typedef struct end_point {
    bool output;
    size_t index;
} end_point;

static rynd_status check_index(const rynd_session *session, end_point at, ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    const size_t count = at.output ? plan->model_outputs : plan->input_count;
    return at.index < count ? RYND_OK
                            : ry_fail(error, RYND_ERROR_ARGUMENT, "%s %zu: the model has %zu",
                                      at.output ? "output" : "input", at.index, count);
}

/* A name may be an input's and an output's: then it means the input. */
static rynd_status find(const rynd_session *session, const char *name, end_point *at,
                        ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    const uint32_t input = ry_names_find(&plan->input_index, name),
                   output = ry_names_find(&plan->output_index, name);
    *at = (end_point){input == RY_NO_NAME, input == RY_NO_NAME ? output : input};
    return at->output && output == RY_NO_NAME
               ? ry_fail(error, RYND_ERROR_NOT_FOUND, "the model has no input or output '%s'", name)
               : RYND_OK;
}

static rynd_status bind(rynd_session *session, end_point at, const rynd_tensor *given,
                        ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    ry_session *running = session->running;
    ry_tensor tensor;
    rynd_status status = ry_api_take_tensor(given, &tensor, error);
    if (status == RYND_OK && at.output) {
        status = ry_api_check_writable(&tensor, error);
    }
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s '%s': ", at.output ? "output" : "input",
                        at.output ? plan->outputs[at.index].name : plan->input_names[at.index]);
        return status;
    }
    return at.output ? ry_session_bind_output(running, at.index, &tensor, error)
                     : ry_session_bind_input(running, at.index, &tensor, error);
}

static rynd_status bind_at(rynd_session *session, end_point at, const rynd_tensor *tensor)
{
    ry_error error = {""};
    rynd_status status = check_index(session, at, &error);
    status = status == RYND_OK ? bind(session, at, tensor, &error) : status;
    return end(session->plan, status, &error, RYND_ERROR_OUT_OF_MEMORY);
}

rynd_status rynd_session_bind(rynd_session *session, const char *name, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, name, tensor);
    ry_error error = {""};
    end_point at;
    rynd_status status = find(session, name, &at, &error);
    status = status == RYND_OK ? bind(session, at, tensor, &error) : status;
    return end(session->plan, status, &error, RYND_ERROR_OUT_OF_MEMORY);
}

rynd_status rynd_session_bind_input(rynd_session *session, size_t index, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, tensor);
    return bind_at(session, (end_point){false, index}, tensor);
}

rynd_status rynd_session_bind_output(rynd_session *session, size_t index, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, tensor);
    return bind_at(session, (end_point){true, index}, tensor);
}

static rynd_status bind_buffer(rynd_session *session, end_point at, const rynd_buffer *buffer,
                               size_t offset, ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    ry_session *running = session->running;
    const ry_pointer pointer = {buffer->buffer, offset};
    if (at.output && (plan->outputs[at.index].later || plan->outputs[at.index].bounded)) {
        return ry_session_bind_output_pointer(running, at.index, pointer, error); /* says why not */
    }
    const rynd_status status =
        ry_api_check_place(session->plan->context,
                           at.output ? &plan->outputs[at.index].tensor : &plan->inputs[at.index],
                           buffer, offset, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "%s '%s': ", at.output ? "output" : "input",
                        at.output ? plan->outputs[at.index].name : plan->input_names[at.index]);
        return status;
    }
    return at.output ? ry_session_bind_output_pointer(running, at.index, pointer, error)
                     : ry_session_bind_input_pointer(running, at.index, pointer, error);
}

static rynd_status bind_buffer_at(rynd_session *session, end_point at, const rynd_buffer *buffer,
                                  size_t offset)
{
    ry_error error = {""};
    rynd_status status = check_index(session, at, &error);
    status = status == RYND_OK ? bind_buffer(session, at, buffer, offset, &error) : status;
    return end(session->plan, status, &error, RYND_ERROR_OUT_OF_MEMORY);
}

rynd_status rynd_session_bind_buffer(rynd_session *session, const char *name, rynd_buffer *buffer,
                                     size_t offset)
{
    RY_API_REQUIRE(session, name, buffer);
    ry_error error = {""};
    end_point at;
    rynd_status status = find(session, name, &at, &error);
    status = status == RYND_OK ? bind_buffer(session, at, buffer, offset, &error) : status;
    return end(session->plan, status, &error, RYND_ERROR_OUT_OF_MEMORY);
}

rynd_status rynd_session_bind_input_buffer(rynd_session *session, size_t index, rynd_buffer *buffer,
                                           size_t offset)
{
    RY_API_REQUIRE(session, buffer);
    return bind_buffer_at(session, (end_point){false, index}, buffer, offset);
}

rynd_status rynd_session_bind_output_buffer(rynd_session *session, size_t index,
                                            rynd_buffer *buffer, size_t offset)
{
    RY_API_REQUIRE(session, buffer);
    return bind_buffer_at(session, (end_point){true, index}, buffer, offset);
}

/* Events are looked at before anything is put into the queue. */
static rynd_status check_events(const rynd_session *session, const rynd_run_options *options,
                                ry_error *error)
{
    if (options->wait_count && !options->wait) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_run_options: wait is NULL, wait_count %zu",
                       options->wait_count);
    }
    for (size_t i = 0; i <= options->wait_count; i++) {
        const bool last = i == options->wait_count;
        const rynd_event *event = last ? options->record : options->wait[i];
        if (!event && !last) {
            return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_run_options: wait[%zu] is NULL", i);
        }
        if (event && event->context != session->plan->context) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "rynd_run_options: an event is of another context");
        }
    }
    return RYND_OK;
}

static rynd_status run_async(rynd_session *session, const rynd_run_options *options,
                             ry_error *error)
{
    const ry_device_table *table = session->plan->context->device->table;
    ry_session *running = session->running;
    RY_TRY(check_events(session, options, error));
    if (options->stream) {
        RY_TRY(ry_api_check_stream(options->stream, session->plan->context, error));
        RY_TRY(ry_session_use_stream(running, options->stream->stream, error));
    } else {
        RY_TRY(ry_session_finish(running, error)); /* then the session uses its own stream */
    }
    ry_stream *stream = ry_session_stream(running);
    for (size_t i = 0; i < options->wait_count; i++) {
        RY_TRY(table->event_await(stream, options->wait[i]->event, error));
    }
    RY_TRY(ry_session_start(running, error));
    return options->record ? table->event_record(stream, options->record->event, error) : RYND_OK;
}

rynd_status rynd_session_run_async(rynd_session *session, const rynd_run_options *given)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    rynd_run_options options;
    rynd_status status =
        ry_api_options(&options, sizeof options, given, "rynd_run_options", &error);
    status = status == RYND_OK ? run_async(session, &options, &error) : status;
    return ry_api_end_run(session->plan, status, &error);
}

rynd_status rynd_session_wait(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end_run(session->plan, ry_session_finish(session->running, &error), &error);
}

rynd_status rynd_session_run(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end_run(session->plan, ry_session_run(session->running, &error), &error);
}

rynd_status rynd_session_get_output(const rynd_session *session, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, tensor);
    ry_error error = {""};
    const ry_plan *plan = session->plan->plan;
    if (index >= plan->model_outputs) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "output %zu: the model has %zu",
                                  index, plan->model_outputs),
                          &error);
    }
    return ry_api_end(ry_session_output(session->running, index, tensor, &error), &error);
}

rynd_status rynd_session_get_output_named(const rynd_session *session, const char *name,
                                          rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, name, tensor);
    ry_error error = {""};
    size_t index;
    const rynd_status status =
        ry_api_find_name(&session->plan->plan->output_index, "output", name, &index, &error);
    return status == RYND_OK ? rynd_session_get_output(session, index, tensor)
                             : ry_api_end(status, &error);
}

size_t rynd_session_memory(const rynd_session *session)
{
    return session ? ry_session_memory(session->running) : 0;
}

size_t rynd_session_copied(const rynd_session *session)
{
    return session ? ry_session_copied(session->running) : 0;
}

rynd_status rynd_session_profile(rynd_session *session, int on)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end(ry_session_set_timing(session->running, on != 0, &error), &error);
}

double rynd_session_step_time(const rynd_session *session, size_t step)
{
    return session && step < session->plan->plan->step_count
               ? ry_session_times(session->running)[step]
               : 0;
}
