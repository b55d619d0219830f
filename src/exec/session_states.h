/* SPDX-License-Identifier: Apache-2.0 */
/* States: inputs in the session's own memory that keep their content from run to run. */
#ifndef RY_EXEC_SESSION_STATES_H
#define RY_EXEC_SESSION_STATES_H

#include "exec/session_state.h"

/* Creates the states' memory with their initial content; tells `unneeded` (NULL: nobody) of content
 * that was copied. */
rynd_status ry_session_create_states(ry_session *session, const ry_unneeded *unneeded,
                                     ry_error *error);

/* After the last step: copies the states' next content that no step wrote in place. */
rynd_status ry_session_keep_states(ry_session *session, ry_error *error);

size_t ry_session_state_bytes(const ry_session *session, size_t state);

/* Refuses an input that is a state. */
rynd_status ry_session_check_input(const ry_session *session, size_t index, ry_error *error);

#endif
