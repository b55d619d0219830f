/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that help their callers: the pool below ry_threads.
 *
 * A caller offers a job and works on it itself; helpers that have nothing else to do take tasks of
 * it. A task that nobody has taken is never waited for: the caller takes it. So a helper that the
 * system does not run, or that is busy with another job, delays no job that it took nothing of.
 *
 *     caller   offer -> take, run, take, run ... nothing left -> wait for the tasks that others
 *              took
 *     helper   spin -> take, run ...           -> spin for a while -> sleep
 *
 * Several callers may have jobs at once, and a task may offer another job. */
#ifndef RY_BASE_TEAM_H
#define RY_BASE_TEAM_H

#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

typedef struct ry_team ry_team;

/* helpers: at least 1. crowded: there are fewer processors than threads, so that one that waits had
 * better give its processor away at once. */
rynd_status ry_team_create(const ry_allocator *allocator, unsigned helpers, bool crowded,
                           ry_team **team, ry_error *error);
void ry_team_destroy(ry_team *team); /* no job may run; NULL is allowed */

/* Runs `tasks` tasks, `grain` at a time to a thread, and returns when all are done. The caller is
 * worker 0, helpers are 1 and up. wake: the job is worth the calls that wake helpers which sleep.
 */
void ry_team_run(ry_team *team, size_t tasks, size_t grain, bool wake, ry_task task, void *context);

#endif
