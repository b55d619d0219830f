/* SPDX-License-Identifier: Apache-2.0 */
/* Tells a caller's function how far a call is. */
#ifndef RY_BASE_PROGRESS_ENDS_H
#define RY_BASE_PROGRESS_ENDS_H

#include <rynd/status.h>

#include <stdbool.h>

/* Does the caller end the call? `function` may be NULL. */
static inline bool ry_progress_ends(rynd_progress_function function, void *user, size_t done,
                                    size_t all)
{
    const rynd_progress progress = RYND_SIZED(rynd_progress, .done = done, .all = all);
    return function && function(user, &progress) != 0;
}

#endif
