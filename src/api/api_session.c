/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions: binding memory and running. */
#include "api/handles.h"

#include <string.h>

rynd_status rynd_session_create(rynd_plan *plan, rynd_session **session)
{
    ry_error error = {""};
    rynd_session *s = ry_allocate_array(&plan->context->allocator, 1, sizeof *s);
    if (!s) {
        return ry_api_end(ry_fail_memory(&error), &error);
    }
    ry_plan_options options = {.accuracy = plan->accuracy};
    rynd_status status = ry_session_create(plan->plan, &options, &s->session, &error);
    if (status != RYND_OK) {
        ry_release(&plan->context->allocator, s);
        return ry_api_end(status, &error);
    }
    s->plan = plan;
    *session = s;
    return RYND_OK;
}

void rynd_session_destroy(rynd_session *session)
{
    if (session) {
        ry_session_destroy(session->session);
        ry_release(&session->plan->context->allocator, session);
    }
}

rynd_status rynd_session_bind(rynd_session *session, const char *name, const rynd_tensor *tensor)
{
    ry_error error = {""};
    const ry_plan *plan = session->plan->plan;
    for (size_t i = 0; i < plan->input_count; i++) {
        if (strcmp(plan->input_names[i], name) == 0) {
            return ry_api_end(ry_session_bind_input(session->session, i, tensor, &error), &error);
        }
    }
    for (size_t i = 0; i < plan->model_outputs; i++) {
        if (strcmp(plan->outputs[i].name, name) == 0) {
            return ry_api_end(ry_session_bind_output(session->session, i, tensor, &error), &error);
        }
    }
    return ry_api_end(ry_fail(&error, RYND_ERROR_NOT_FOUND, "the model has no input or output '%s'", name), &error);
}

rynd_status rynd_session_run(rynd_session *session)
{
    ry_error error = {""};
    rynd_status status = ry_session_run(session->session, &error);
    if (session->plan->path && status == RYND_ERROR_SHAPE) { /* what is wrong with a node; the rest is the caller's, or the machine's */
        ry_error_prefix(&error, "%s: ", session->plan->path);
    }
    return ry_api_end(status, &error);
}

rynd_status rynd_session_output(const rynd_session *session, size_t index, rynd_tensor *tensor)
{
    ry_error error = {""};
    const ry_plan *plan = session->plan->plan;
    if (index >= plan->model_outputs) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "output %zu: the model has %zu", index, plan->model_outputs), &error);
    }
    return ry_api_end(ry_session_output(session->session, index, tensor, &error), &error);
}

size_t rynd_session_memory(const rynd_session *session)
{
    return ry_session_memory(session->session);
}

void rynd_session_profile(rynd_session *session, int on)
{
    ry_session_set_timing(session->session, on != 0);
}

double rynd_session_step_time(const rynd_session *session, size_t step)
{
    return step < session->plan->plan->step_count ? ry_session_times(session->session)[step] : 0;
}
