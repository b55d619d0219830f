/* SPDX-License-Identifier: Apache-2.0 */
/* What starting and ending a run share. */
#ifndef RY_EXEC_SESSION_FINISH_H
#define RY_EXEC_SESSION_FINISH_H

#include "exec/session_state.h"

/* Does the part of the plan that runs have the step? */
static inline bool ry_session_runs_step(const ry_session *session, size_t step)
{
    const bool first = step < session->plan->parts.steps;
    return session->part == RY_BOTH_PARTS || first == (session->part == RY_FIRST_PART);
}

/* Fails if the step found illegal content, and names its node. */
rynd_status ry_session_check_fault(const ry_session *session, size_t index, const ry_fault *fault,
                                   ry_error *error);

#endif
