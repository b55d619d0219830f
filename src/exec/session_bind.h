/* SPDX-License-Identifier: Apache-2.0 */
/* Binding outputs once more. */
#ifndef RY_EXEC_SESSION_BIND_H
#define RY_EXEC_SESSION_BIND_H

#include "exec/session_state.h"

/* Binds the output to the same memory once more. over_input: a copy after the run writes it, and no
 * step. */
rynd_status ry_session_rebind_output(ry_session *session, size_t index, bool over_input,
                                     ry_error *error);

#endif
