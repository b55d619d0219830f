/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and runs what could not be planned before. */
#include "exec/rest.h"

#include "exec/session_parts.h"

#include <string.h>

void ry_rest_destroy(ry_rest *rest)
{
    ry_session_destroy(rest->session);
    ry_plan_destroy(rest->plan);
    if (rest->arena.allocator) {
        ry_arena_free(&rest->arena);
    }
    *rest = (ry_rest){0};
}

static bool decides_shapes(const ry_tensor *tensor)
{
    return ry_tensor_count(tensor) <= RY_MAX_INTS;
}

static bool still_valid(const ry_session *session, const ry_rest *rest, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const ry_tensor *now = &session->outputs[session->plan->model_outputs + i].tensor, *then = &rest->inputs[i];
        if (now->rank != then->rank || memcmp(now->dim, then->dim, sizeof now->dim) != 0 ||
            (decides_shapes(now) && memcmp(now->data, then->data, ry_tensor_bytes(now)) != 0)) {
            return false;
        }
    }
    return true;
}

static rynd_status remember_inputs(ry_session *session, size_t count, ry_error *error)
{
    ry_rest *rest = &session->rest;
    ry_arena_init(&rest->arena, session->plan->device->allocator);
    rest->inputs = RY_TAKE(&rest->arena, ry_tensor, count);
    if (!rest->inputs) {
        return ry_fail_memory(error);
    }
    for (size_t i = 0; i < count; i++) {
        ry_tensor *input = &rest->inputs[i];
        *input = session->outputs[session->plan->model_outputs + i].tensor;
        void *copy = NULL;
        if (decides_shapes(input)) {
            copy = ry_arena_take(&rest->arena, ry_tensor_bytes(input), 1);
            if (!copy) {
                return ry_fail_memory(error);
            }
            memcpy(copy, input->data, ry_tensor_bytes(input));
        }
        input->data = copy;
    }
    return RYND_OK;
}

static rynd_status make_rest(ry_session *session, size_t count, ry_error *error)
{
    ry_rest *rest = &session->rest;
    ry_rest_destroy(rest);
    RY_TRY(remember_inputs(session, count, error));
    ry_plan_options options = {.accuracy = session->accuracy, .inputs = rest->inputs};
    RY_TRY(ry_plan_create(session->plan->device, session->plan->rest, &options, &rest->plan, error));
    return ry_session_create(rest->plan, &options, &rest->session, error);
}

rynd_status ry_rest_run(ry_session *session, ry_error *error)
{
    ry_rest *rest = &session->rest;
    size_t count = session->plan->output_count - session->plan->model_outputs;
    if (!rest->session || !still_valid(session, rest, count)) {
        rynd_status status = make_rest(session, count, error);
        if (status != RYND_OK) {
            ry_rest_destroy(rest);
            return status;
        }
    }
    for (size_t i = 0; i < count; i++) {
        RY_TRY(ry_session_bind_input(rest->session, i, &session->outputs[session->plan->model_outputs + i].tensor, error));
    }
    return ry_session_run(rest->session, error);
}

rynd_status ry_rest_output(const ry_session *session, size_t index, ry_tensor *tensor, ry_error *error)
{
    if (!session->rest.session) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "output '%s': run the session first", session->plan->outputs[index].name);
    }
    return ry_session_output(session->rest.session, session->plan->outputs[index].rest, tensor, error);
}
