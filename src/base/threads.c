/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic task taking over pthreadpool: each lane draws task numbers from one counter until none is left. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdatomic.h>

struct ry_threads {
    const ry_allocator *allocator;
    pthreadpool_t pool; /* NULL with one thread or a caller's pool */
    ry_parallel_for parallel_for;
    void *user;
    unsigned count;
    pthread_mutex_t lock; /* pthreadpool and most callers' pools run one job at a time */
};

typedef struct job {
    ry_task task;
    void *context;
    size_t tasks;
    atomic_size_t next;
} job;

static void run_lane(void *context, unsigned lane)
{
    job *j = context;
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&j->next, 1, memory_order_relaxed);
        if (task >= j->tasks) {
            return;
        }
        j->task(j->context, task, lane);
    }
}

static void run_pool_lane(void *context, size_t lane)
{
    run_lane(context, (unsigned)lane);
}

static unsigned usable_cpus(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) {
        return 1;
    }
    int count = CPU_COUNT(&set);
    return count > 0 ? (unsigned)count : 1;
}

rynd_status ry_threads_create(const ry_allocator *allocator, unsigned count, ry_parallel_for parallel_for, void *user, ry_threads **threads,
                              ry_error *error)
{
    ry_threads *t = ry_allocate_array(allocator, 1, sizeof *t);
    if (!t) {
        return ry_fail_memory(error);
    }
    t->allocator = allocator;
    t->count = count ? count : usable_cpus();
    t->parallel_for = parallel_for;
    t->user = user;
    pthread_mutex_init(&t->lock, NULL);
    if (!parallel_for && t->count > 1) {
        t->pool = pthreadpool_create(t->count);
        if (!t->pool) {
            ry_threads_destroy(t);
            return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "cannot start %u threads", count);
        }
    }
    *threads = t;
    return RYND_OK;
}

void ry_threads_destroy(ry_threads *threads)
{
    if (threads) {
        if (threads->pool) {
            pthreadpool_destroy(threads->pool);
        }
        pthread_mutex_destroy(&threads->lock);
        ry_release(threads->allocator, threads);
    }
}

unsigned ry_threads_count(const ry_threads *threads)
{
    return threads->count;
}

void ry_threads_run(ry_threads *threads, size_t tasks, ry_task task, void *context)
{
    job j = {.task = task, .context = context, .tasks = tasks};
    atomic_init(&j.next, 0);
    unsigned lanes = tasks < threads->count ? (unsigned)tasks : threads->count;
    if (lanes <= 1) {
        run_lane(&j, 0);
        return;
    }
    pthread_mutex_lock(&threads->lock);
    if (threads->parallel_for) {
        threads->parallel_for(threads->user, lanes, run_lane, &j);
    } else {
        pthreadpool_parallelize_1d(threads->pool, run_pool_lane, &j, lanes, 0);
    }
    pthread_mutex_unlock(&threads->lock);
}
