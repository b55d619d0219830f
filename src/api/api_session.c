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

void rynd_session_profile(rynd_session *session, int on)
{
    if (session) {
        ry_session_set_timing(ry_run_session(session->run), on != 0);
    }
}

double rynd_session_step_time(const rynd_session *session, size_t step)
{
    return session && step < session->plan->plan->step_count
               ? ry_session_times(ry_run_session(session->run))[step]
               : 0;
}
