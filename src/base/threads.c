/* SPDX-License-Identifier: Apache-2.0 */
/* Dynamic task taking over pthreadpool: each lane draws task numbers from one counter until none is left. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include <pthread.h>
#include <pthreadpool.h>
#include <sched.h>
#include <stdatomic.h>

typedef struct job {
    ry_task task;
    void *context;
    size_t tasks;
} job;

/* `next` and `done` also order memory between the caller and the lanes, whatever the pool below does: a lane sees the job through the task number that
 * it draws, the caller sees what lanes wrote through the count of those that are done. */
struct ry_threads {
    const ry_allocator *allocator;
    pthreadpool_t pool; /* NULL with one thread or a caller's pool */
    ry_parallel_for parallel_for;
    void *user;
    unsigned count;
    pthread_mutex_t lock; /* pthreadpool and most callers' pools run one job at a time */
    const job *job;       /* the one that runs */
    atomic_size_t next;   /* task */
    atomic_uint done;     /* lanes, of all jobs */
};

static void run_lane(void *context, unsigned lane)
{
    ry_threads *threads = context;
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&threads->next, 1, memory_order_acq_rel);
        const job *j = threads->job;
        if (task >= j->tasks) {
            break;
        }
        j->task(j->context, task, lane);
    }
    atomic_fetch_add_explicit(&threads->done, 1, memory_order_release);
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
    atomic_init(&t->next, 0);
    atomic_init(&t->done, 0);
    if (!parallel_for && t->count > 1) {
        t->pool = pthreadpool_create(t->count);
        if (!t->pool) {
            unsigned wanted = t->count;
            ry_threads_destroy(t);
            return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "cannot start %u threads", wanted);
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
    const job j = {task, context, tasks};
    unsigned lanes = tasks < threads->count ? (unsigned)tasks : threads->count;
    pthread_mutex_lock(&threads->lock); /* for one lane too: another caller's run may have a worker 0 */
    threads->job = &j;
    atomic_store_explicit(&threads->next, 0, memory_order_release);
    if (lanes <= 1) {
        run_lane(threads, 0);
    } else if (threads->parallel_for) {
        threads->parallel_for(threads->user, lanes, run_lane, threads);
    } else {
        pthreadpool_parallelize_1d(threads->pool, run_pool_lane, threads, lanes, 0);
    }
    (void)atomic_load_explicit(&threads->done, memory_order_acquire);
    threads->job = NULL;
    pthread_mutex_unlock(&threads->lock);
}
