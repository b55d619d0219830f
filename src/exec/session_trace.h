/* SPDX-License-Identifier: Apache-2.0 */
/* Records what each worker does of each step. */
#ifndef RY_EXEC_SESSION_TRACE_H
#define RY_EXEC_SESSION_TRACE_H

#include "exec/session_state.h"

/* Runs all steps by `run_steps`, recorded if the session traces. */
rynd_status ry_session_run_traced(ry_session *session,
                                  rynd_status (*run_steps)(ry_session *, ry_error *),
                                  ry_error *error);

/* A device that does not know its workers: one span a step, from the marks' times. */
void ry_session_add_span(ry_session *session, size_t step, double seconds);

#endif
