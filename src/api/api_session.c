/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: binding memory and running. */
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

rynd_status rynd_session_create(rynd_plan *plan, rynd_session **session)
{
    RY_API_REQUIRE(plan, session);
    *session = NULL;
    ry_error error = {""};
    rynd_session *s = ry_allocate_array(&plan->context->allocator, 1, sizeof *s);
    if (!s) {
        return end(plan, ry_fail_memory(&error), &error, RYND_ERROR_OUT_OF_MEMORY);
    }
    rynd_status status = ry_run_create(plan->plan, plan->accuracy, &s->run, &error);
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
        ry_run_destroy(session->run);
        ry_release(&session->plan->context->allocator, session);
    }
}

static rynd_status bind_output(rynd_session *session, size_t index, const ry_tensor *tensor,
                               ry_error *error)
{
    const rynd_status status = ry_api_check_writable(tensor, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "output '%s': ", session->plan->plan->outputs[index].name);
        return status;
    }
    return ry_session_bind_output(ry_run_session(session->run), index, tensor, error);
}

static rynd_status bind(rynd_session *session, const char *name, const rynd_tensor *given,
                        ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    ry_tensor tensor;
    const rynd_status status = ry_api_take_tensor(given, &tensor, error);
    if (status != RYND_OK) {
        ry_error_prefix(error, "rynd_session_bind: '%s': ", name);
        return status;
    }
    const uint32_t input = ry_names_find(&plan->input_index, name),
                   output = ry_names_find(&plan->output_index, name);
    if (input != RY_NO_NAME) {
        return ry_session_bind_input(ry_run_session(session->run), input, &tensor, error);
    }
    if (output != RY_NO_NAME) {
        return bind_output(session, output, &tensor, error);
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND, "the model has no input or output '%s'", name);
}

rynd_status rynd_session_bind(rynd_session *session, const char *name, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, name, tensor);
    ry_error error = {""};
    return end(session->plan, bind(session, name, tensor, &error), &error,
               RYND_ERROR_OUT_OF_MEMORY);
}

static rynd_status bind_place(rynd_session *session, const char *name, const ry_tensor *planned,
                              const rynd_buffer *buffer, size_t offset, ry_error *error)
{
    const size_t element = ry_dtype_size((ry_dtype)planned->dtype);
    int64_t low = 0, high = 0;
    if (ry_tensor_count(planned) > 0) {
        (void)ry_tensor_reach(planned, &low, &high); /* the plan was made: it does not overflow */
    }
    rynd_status status =
        offset < (size_t)-low
            ? ry_fail(error, RYND_ERROR_ARGUMENT,
                      "offset %zu: the plan's negative strides reach %zu bytes below it", offset,
                      (size_t)-low)
            : ry_api_buffer_range(buffer, offset - (size_t)-low, (size_t)(high - low), error);
    if (status == RYND_OK && offset % element) {
        status = ry_fail(error, RYND_ERROR_ARGUMENT,
                         "offset %zu is no multiple of %zu, the size of a %s", offset, element,
                         ry_dtype_name((ry_dtype)planned->dtype));
    }
    if (status == RYND_OK && buffer->context != session->plan->context) {
        status = ry_fail(error, RYND_ERROR_ARGUMENT, "the buffer is of another context");
    }
    if (status != RYND_OK) {
        ry_error_prefix(error, "rynd_session_bind_buffer: '%s': ", name);
    }
    return status;
}

static rynd_status bind_buffer(rynd_session *session, const char *name, const rynd_buffer *buffer,
                               size_t offset, ry_error *error)
{
    const ry_plan *plan = session->plan->plan;
    ry_session *running = ry_run_session(session->run);
    const ry_place place = {buffer->buffer, offset};
    const uint32_t input = ry_names_find(&plan->input_index, name),
                   output = ry_names_find(&plan->output_index, name);
    if (input != RY_NO_NAME) {
        RY_TRY(bind_place(session, name, &plan->inputs[input], buffer, offset, error));
        return ry_session_bind_input_place(running, input, place, error);
    }
    if (output != RY_NO_NAME) {
        RY_TRY(bind_place(session, name, &plan->outputs[output].tensor, buffer, offset, error));
        return ry_session_bind_output_place(running, output, place, error);
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND, "the model has no input or output '%s'", name);
}

rynd_status rynd_session_bind_buffer(rynd_session *session, const char *name, rynd_buffer *buffer,
                                     size_t offset)
{
    RY_API_REQUIRE(session, name, buffer);
    ry_error error = {""};
    return end(session->plan, bind_buffer(session, name, buffer, offset, &error), &error,
               RYND_ERROR_OUT_OF_MEMORY);
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
    ry_stream *stream = ry_session_stream(ry_run_session(session->run));
    RY_TRY(check_events(session, options, error));
    for (size_t i = 0; i < options->wait_count; i++) {
        RY_TRY(table->event_await(stream, options->wait[i]->event, error));
    }
    RY_TRY(ry_run_start(session->run, error));
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
    return end(session->plan, status, &error, RYND_ERROR_SHAPE);
}

rynd_status rynd_session_wait(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return end(session->plan, ry_run_finish(session->run, &error), &error, RYND_ERROR_SHAPE);
}

rynd_status rynd_session_run(rynd_session *session)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return end(session->plan, ry_run_go(session->run, &error), &error, RYND_ERROR_SHAPE);
}

rynd_status rynd_session_output(const rynd_session *session, size_t index, rynd_tensor *tensor)
{
    RY_API_REQUIRE(session, tensor);
    ry_error error = {""};
    const ry_plan *plan = session->plan->plan;
    if (index >= plan->model_outputs) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "output %zu: the model has %zu",
                                  index, plan->model_outputs),
                          &error);
    }
    return ry_api_end(ry_run_output(session->run, index, tensor, &error), &error);
}

size_t rynd_session_memory(const rynd_session *session)
{
    return session ? ry_run_memory(session->run) : 0;
}

size_t rynd_session_copied(const rynd_session *session)
{
    return session ? ry_session_copied(ry_run_session(session->run)) : 0;
}

rynd_status rynd_session_profile(rynd_session *session, int on)
{
    RY_API_REQUIRE(session);
    ry_error error = {""};
    return ry_api_end(ry_session_set_timing(ry_run_session(session->run), on != 0, &error), &error);
}

double rynd_session_step_time(const rynd_session *session, size_t step)
{
    return session && step < session->plan->plan->step_count
               ? ry_session_times(ry_run_session(session->run))[step]
               : 0;
}
