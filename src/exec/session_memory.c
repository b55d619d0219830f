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

ry_pointer ry_session_pointer(const ry_session *session, ry_location location, int64_t micro_batch)
{
    const size_t share = location.share * (size_t)micro_batch;
    switch (location.storage) {
    case RY_STORAGE_INPUT:
        return (ry_pointer){session->inputs[location.index].pointer.buffer,
                            session->inputs[location.index].pointer.offset + share};
    case RY_STORAGE_CONSTANT:
        return (ry_pointer){session->plan->weights.constants[location.index], 0};
    case RY_STORAGE_ARENA: return (ry_pointer){session->activations, location.offset + share};
    case RY_STORAGE_OUTPUT:
        return (ry_pointer){session->outputs[location.index].pointer.buffer,
                            session->outputs[location.index].pointer.offset + share};
    case RY_STORAGE_NONE: break;
    }
    return (ry_pointer){NULL, 0};
}
