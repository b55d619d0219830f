/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tasks on a team of threads (team.h), or on the caller's own pool, taking them dynamically.
 *
 * A task is an index; it must not care which worker runs it, so that results have the same bits at
 * any thread count. `worker` is below ry_threads_count and no two tasks of one run have the same
 * worker at once: it selects a worker's scratch memory. Any number of threads may run tasks at
 * once, each with scratch of its own, and a task may run others. Neighbouring tasks tend to run on
 * the same worker, the first ones on the caller: a tensor's parts then stay in one core's cache
 * from run to run. */
#ifndef RY_BASE_THREADS_H
#define RY_BASE_THREADS_H

#include "base/memory.h"
#include "base/status.h"
#include "base/task.h"

typedef struct ry_threads ry_threads;

/* A caller's pool: calls body(body_context, lane) for every lane below `lanes`, on any threads, and
 * returns when all are done. */
typedef void (*ry_parallel_for)(void *user, unsigned lanes,
                                void (*body)(void *body_context, unsigned lane),
                                void *body_context);

/* count 0: as many threads as the process may run on. parallel_for NULL: a pool of our own. */
rynd_status ry_threads_create(const ry_allocator *allocator, unsigned count,
                              ry_parallel_for parallel_for, void *user, ry_threads **threads,
                              ry_error *error);
void ry_threads_destroy(ry_threads *threads); /* NULL is allowed */
unsigned ry_threads_count(const ry_threads *threads);

/* Handing work over and back costs about a microsecond, and what the other thread reads and writes
 * moves between the cores' caches besides. Less work on one thread than this is not shared. */
#define RY_MIN_SHARED_SECONDS 6e-6

/* seconds: what all tasks take on one thread, as far as it is known: work that is too short to
 * share stays on the calling thread, and short tasks are taken several at a time. 0: not known, or
 * long. */
void ry_threads_run(ry_threads *threads, size_t tasks, double seconds, ry_task task, void *context);

#endif
