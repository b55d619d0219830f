/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a session. */
#include "exec/session_memory.h"

rynd_status ry_session_take_buffer(ry_session *session, size_t size, ry_buffer **buffer,
                                   ry_error *error)
{
    RY_TRY(session->plan->device->table->buffer_create(session->plan->device, size, buffer, error));
    session->memory += size;
    return RYND_OK;
}

rynd_status ry_session_name_tensor(rynd_status status, const char *what, const char *name,
                                   ry_error *error)
{
    if (status == RYND_ERROR_OUT_OF_MEMORY) {
        ry_error_prefix(error, "%s '%s': ", what, name);
    }
    return status;
}

rynd_status ry_session_own_output(ry_session *session, size_t index, ry_error *error)
{
    ry_session_output_slot *slot = &session->outputs[index];
    return slot->own || !ry_session_writes_output(session, index)
               ? RYND_OK
               : ry_session_take_buffer(session,
                                        ry_tensor_bytes(&session->plan->outputs[index].tensor),
                                        &slot->own, error);
}

ry_place ry_session_place(const ry_session *session, ry_spot spot, int64_t micro_batch)
{
    const size_t share = spot.share * (size_t)micro_batch;
    switch (spot.home) {
    case RY_HOME_INPUT:
        return (ry_place){session->inputs[spot.index].place.buffer,
                          session->inputs[spot.index].place.offset + share};
    case RY_HOME_CONSTANT: return (ry_place){session->plan->weights.constants[spot.index], 0};
    case RY_HOME_ARENA: return (ry_place){session->activations, spot.offset + share};
    case RY_HOME_OUTPUT:
        return (ry_place){session->outputs[spot.index].place.buffer,
                          session->outputs[spot.index].place.offset + share};
    case RY_HOME_NONE: break;
    }
    return (ry_place){NULL, 0};
}
