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

#endif
