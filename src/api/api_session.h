/* SPDX-License-Identifier: Apache-2.0 */
/* A plan's session. */
#ifndef RY_API_API_SESSION_H
#define RY_API_API_SESSION_H

#include "exec/session.h"

#include <rynd/rynd.h>

struct rynd_session {
    const rynd_plan *plan;
    ry_session *running;
};

/* The end of a public function that runs a session: puts the model's path before errors of nodes
 * and of memory. */
rynd_status ry_api_end_run(const rynd_plan *plan, rynd_status status, ry_error *error);

#endif
