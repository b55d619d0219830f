/* SPDX-License-Identifier: Apache-2.0 */
/* What a trainer keeps from step to step, and gradients, by name. */
#include "api/api_check.h"
#include "api/api_status.h"
#include "api/trainer.h"

#include <string.h>

static const ry_tensor *description_of(const ry_trainer_state *state)
{
    const ry_plan *plan = state->run->plan->plan;
    return &plan->inputs[plan->states[state->index].input];
}

ry_tensor ry_trainer_state_in_place(const ry_trainer_state *state)
{
    ry_tensor tensor = *description_of(state);
    ry_device *device = state->run->plan->plan->device;
    if (device->host_memory) {
        const ry_pointer pointer =
            ry_session_state_pointer(ry_trainer_session(state->run), state->index);
        tensor.data = (char *)device->table->buffer_address(pointer.buffer) + pointer.offset;
    }
    return tensor;
}

size_t rynd_trainer_state_count(const rynd_trainer *trainer)
{
    return trainer ? trainer->state_count : 0;
}

static rynd_status describe_state(const ry_trainer_state *state, rynd_state_info *info,
                                  ry_error *error)
{
    const ry_training_parameter *p = state->parameter;
    const rynd_state_info all = RYND_SIZED(rynd_state_info, .name = state->name,
                                           .kind = !p             ? RYND_STATE_OPTIMIZER
                                                   : p->statistic ? RYND_STATE_STATISTIC
                                                                  : RYND_STATE_PARAMETER,
                                           .tensor = ry_trainer_state_in_place(state));
    return ry_api_info(info, &all, sizeof all, "rynd_state_info", error);
}

rynd_status rynd_trainer_get_state(const rynd_trainer *trainer, size_t index, rynd_state_info *info)
{
    RY_API_REQUIRE(trainer, info);
    ry_error error = {""};
    if (index >= rynd_trainer_state_count(trainer)) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "rynd_trainer_get_state: %zu is out of range: there are %zu",
                                  index, rynd_trainer_state_count(trainer)),
                          &error);
    }
    return ry_api_end(describe_state(&trainer->states[index], info, &error), &error);
}

static rynd_status find_state(const rynd_trainer *t, const char *name,
                              const ry_trainer_state **state, ry_error *error)
{
    for (size_t i = 0; i < t->state_count; i++) {
        if (strcmp(t->states[i].name, name) == 0) {
            *state = &t->states[i];
            return RYND_OK;
        }
    }
    return ry_fail(error, RYND_ERROR_NOT_FOUND, "the trainer has no state '%s'", name);
}

rynd_status rynd_trainer_get_state_named(const rynd_trainer *trainer, const char *name,
                                         rynd_state_info *info)
{
    RY_API_REQUIRE(trainer, name, info);
    ry_error error = {""};
    const ry_trainer_state *state;
    rynd_status status = find_state(trainer, name, &state, &error);
    status = status == RYND_OK ? describe_state(state, info, &error) : status;
    return ry_api_end(status, &error);
}

/* The state, and the caller's tensor, which must be of its type and shape. */
static rynd_status find_pair(const rynd_trainer *t, const char *name, const rynd_tensor *given,
                             const ry_trainer_state **state, ry_tensor *tensor, ry_error *error)
{
    RY_TRY(find_state(t, name, state, error));
    rynd_status status = ry_api_take_tensor(given, tensor, error);
    const ry_tensor *own = description_of(*state);
    const ry_shape wanted = ry_tensor_shape(own), shape = ry_tensor_shape(tensor);
    if (status == RYND_OK && (own->dtype != tensor->dtype || !ry_shape_equal(&wanted, &shape))) {
        char is[256], was[256];
        status = ry_fail(
            error, RYND_ERROR_SHAPE, "it is %s %s, given %s %s",
            ry_dtype_name((ry_dtype)own->dtype), ry_shape_text(NULL, &wanted, was, sizeof was),
            ry_dtype_name((ry_dtype)tensor->dtype), ry_shape_text(NULL, &shape, is, sizeof is));
    }
    if (status == RYND_OK && !tensor->data && ry_tensor_count(tensor) > 0) {
        status = ry_fail(error, RYND_ERROR_ARGUMENT, "the data is NULL");
    }
    if (status != RYND_OK) {
        ry_error_prefix(error, "state '%s': ", name);
    }
    return status;
}

/* Row-major memory of its own beside the caller's tensor. */
static rynd_status take_copy(const rynd_trainer *t, const ry_tensor *tensor, ry_tensor *copy,
                             ry_error *error)
{
    const ry_shape shape = ry_tensor_shape(tensor);
    void *data = ry_allocate(&t->model->context->allocator, ry_tensor_bytes(tensor) + 1);
    *copy = ry_tensor_row_major((ry_dtype)tensor->dtype, &shape, data);
    return data ? RYND_OK : ry_fail_memory(error);
}

static rynd_status read_state(rynd_trainer *t, const char *name, const rynd_tensor *given,
                              ry_error *error)
{
    const ry_trainer_state *state;
    ry_tensor tensor, copy;
    RY_TRY(find_pair(t, name, given, &state, &tensor, error));
    RY_TRY(ry_api_check_writable(&tensor, error));
    RY_TRY(take_copy(t, &tensor, &copy, error));
    const rynd_status status =
        ry_session_read_state(ry_trainer_session(state->run), state->index, copy.data, error);
    if (status == RYND_OK) {
        ry_tensor_copy(&tensor, &copy);
    }
    ry_release(&t->model->context->allocator, copy.data);
    return status;
}

static rynd_status write_state(rynd_trainer *t, const char *name, const rynd_tensor *given,
                               ry_error *error)
{
    const ry_trainer_state *state;
    ry_tensor tensor, copy;
    RY_TRY(find_pair(t, name, given, &state, &tensor, error));
    RY_TRY(take_copy(t, &tensor, &copy, error));
    ry_tensor_copy(&copy, &tensor);
    const rynd_status status =
        ry_session_write_state(ry_trainer_session(state->run), state->index, copy.data, error);
    ry_release(&t->model->context->allocator, copy.data);
    return status;
}

rynd_status rynd_trainer_read(rynd_trainer *trainer, const char *name, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(trainer, name, tensor);
    ry_error error = {""};
    return ry_trainer_end(trainer, read_state(trainer, name, tensor, &error), &error);
}

rynd_status rynd_trainer_write(rynd_trainer *trainer, const char *name, const rynd_tensor *tensor)
{
    RY_API_REQUIRE(trainer, name, tensor);
    ry_error error = {""};
    return ry_trainer_end(trainer, write_state(trainer, name, tensor, &error), &error);
}

static rynd_status gradient(const rynd_trainer *t, const char *name, rynd_tensor *tensor,
                            ry_error *error)
{
    const ry_trainer_state *state;
    RY_TRY(find_state(t, name, &state, error));
    const ry_training_parameter *p = state->parameter;
    if (!p || p->statistic) {
        return ry_fail(error, RYND_ERROR_NOT_FOUND, "state '%s' is no parameter", name);
    }
    if (p->gradient == UINT32_MAX || !t->updated) {
        return ry_fail(error, RYND_ERROR_ARGUMENT, "rynd_trainer_get_gradient: %s",
                       p->gradient == UINT32_MAX ? "gradients are not kept: set keep_gradients"
                       : t->accumulate > 1       ? "there was no update yet by all micro-batches"
                                                 : "there was no step yet");
    }
    return ry_session_output(ry_trainer_session(state->run), p->gradient, tensor, error);
}

rynd_status rynd_trainer_get_gradient(const rynd_trainer *trainer, const char *name,
                                      rynd_tensor *tensor)
{
    RY_API_REQUIRE(trainer, name, tensor);
    ry_error error = {""};
    return ry_api_end(gradient(trainer, name, tensor, &error), &error);
}
