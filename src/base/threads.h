/* SPDX-License-Identifier: Apache-2.0 */
/* Runs tasks on a pool of threads (pthreadpool, or the caller's own), taking them dynamically.
 *
 * A task is an index; it must not care which worker runs it, so that results have the same bits at any thread count. `worker` is below
 * ry_threads_count and no two tasks run with the same worker at once: it selects a worker's scratch memory. A pool serves one
 * ry_threads_run at a time; calls from several threads queue up, and a task must not call it. */
#ifndef RY_BASE_THREADS_H
#define RY_BASE_THREADS_H

#include "base/memory.h"
#include "base/status.h"

typedef struct ry_threads ry_threads;
typedef void (*ry_task)(void *context, size_t task, unsigned worker);

/* A caller's pool: calls body(body_context, lane) for every lane below `lanes`, on any threads, and returns when all are done. */
typedef void (*ry_parallel_for)(void *user, unsigned lanes, void (*body)(void *body_context, unsigned lane), void *body_context);

/* count 0: as many threads as the process may run on. parallel_for NULL: a pool of our own. */
rynd_status ry_threads_create(const ry_allocator *allocator, unsigned count, ry_parallel_for parallel_for, void *user, ry_threads **threads,
                              ry_error *error);
void ry_threads_destroy(ry_threads *threads); /* NULL is allowed */
unsigned ry_threads_count(const ry_threads *threads);
void ry_threads_run(ry_threads *threads, size_t tasks, ry_task task, void *context);

#endif
