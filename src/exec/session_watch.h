/* SPDX-License-Identifier: Apache-2.0 */
/* Who is told of a session's steps as they run; of the CPU, where a step that was launched is done.
 */
#ifndef RY_EXEC_SESSION_WATCH_H
#define RY_EXEC_SESSION_WATCH_H

#include "base/status.h"

#include <stddef.h>

typedef struct ry_session_watch {
    /* in front of the step's first micro-batch; what it fails with ends the run */
    rynd_status (*before)(void *user, size_t step, ry_error *error);
    void (*after)(void *user, size_t step); /* behind its last */
    void *user;
} ry_session_watch;

#endif
