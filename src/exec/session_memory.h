/* SPDX-License-Identifier: Apache-2.0 */
/* Buffers of a session: counted, and named in errors. */
#ifndef RY_EXEC_SESSION_MEMORY_H
#define RY_EXEC_SESSION_MEMORY_H

#include "exec/session_state.h"

/* Creates a buffer on the plan's device, and adds its size to the session's figure. */
rynd_status ry_session_take_buffer(ry_session *session, size_t size, ry_buffer **buffer,
                                   ry_error *error);

/* Does a step write the output's own memory? Not if the output is an input, or another output. */
static inline bool ry_session_writes_output(const ry_session *session, size_t index)
{
    const ry_location *location = &session->plan->outputs[index].location;
    return location->storage == RY_STORAGE_OUTPUT && location->index == index;
}

/* Creates the session's own memory for an output that a step writes, if it has none yet. */
rynd_status ry_session_own_output(ry_session *session, size_t index, ry_error *error);

/* Where a location is now, for one of the micro-batches. */
ry_pointer ry_session_pointer(const ry_session *session, ry_location location, int64_t micro_batch);

/* Adds the tensor's name to an error of memory. `what`: "input", "output" or "state". */
rynd_status ry_session_name_tensor(rynd_status status, const char *what, const char *name,
                                   ry_error *error);

#endif
