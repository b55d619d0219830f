/* SPDX-License-Identifier: Apache-2.0 */
/* Creates the states of a session and keeps their content from run to run. */
#include "exec/session_states.h"
#include "exec/session_memory.h"

size_t ry_session_state_bytes(const ry_session *session, size_t state)
{
    const ry_plan *plan = session->plan;
    return ry_tensor_bytes(&plan->inputs[plan->states[state].input]);
}

static rynd_status create_state(ry_session *session, size_t index, const ry_unneeded *unneeded,
                                ry_error *error)
{
    const ry_device_table *table = session->plan->device->table;
    const ry_plan_state *state = &session->plan->states[index];
    ry_session_input_slot *slot = &session->inputs[state->input];
    const size_t bytes = ry_session_state_bytes(session, index);
    slot->bound = true;
    if (bytes == 0) {
        return RYND_OK;
    }
    RY_TRY(ry_session_name_tensor(ry_session_take_buffer(session, bytes, &slot->own, error),
                                  "state", session->plan->input_names[state->input], error));
    slot->pointer = (ry_pointer){slot->own, 0};
    if (!state->initial) {
        return ry_device_clear(session->plan->device, session->stream, slot->pointer, bytes, error);
    }
    RY_TRY(table->upload(session->stream, slot->pointer, state->initial, bytes, error));
    if (unneeded && unneeded->tell) {
        unneeded->tell(unneeded->user, state->initial, bytes);
    }
    return RYND_OK;
}

rynd_status ry_session_create_states(ry_session *session, const ry_unneeded *unneeded,
                                     ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->state_count; i++) {
        RY_TRY(create_state(session, i, unneeded, error));
    }
    return plan->state_count ? plan->device->table->synchronize(session->stream, error) : RYND_OK;
}

rynd_status ry_session_keep_states(ry_session *session, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->state_count; i++) {
        const ry_plan_state *state = &plan->states[i];
        const size_t bytes = ry_session_state_bytes(session, i);
        if (!state->in_place && bytes) {
            const ry_pointer from =
                ry_session_pointer(session, plan->outputs[state->output].location, 0);
            RY_TRY(plan->device->table->copy(session->stream, session->inputs[state->input].pointer,
                                             from, bytes, error));
        }
    }
    return RYND_OK;
}

rynd_status ry_session_check_input(const ry_session *session, size_t index, ry_error *error)
{
    const ry_plan *plan = session->plan;
    for (size_t i = 0; i < plan->state_count; i++) {
        if (plan->states[i].input == index) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "input '%s' is a state: the session has it, and keeps it from run to "
                           "run",
                           plan->input_names[index]);
        }
    }
    return RYND_OK;
}
