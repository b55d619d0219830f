/* SPDX-License-Identifier: Apache-2.0 */
/* Decides whether a run of tasks is worth other threads, and whose they are. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/threads.h"

#include "base/team.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* A run that is shorter than the time until a sleeping thread has woken goes on without it, unless
 * others just like it follow (base/team.c). */
static const double min_woken_seconds = 30e-6;

/* Tasks that are taken at once: taking costs a tenth of a microsecond. */
static const double min_taken_seconds = 1e-6;

struct ry_threads {
    const ry_allocator *allocator;
    ry_team *team; /* NULL with one thread or a caller's pool */
    ry_parallel_for parallel_for;
    void *user;
    unsigned count;
    pthread_mutex_t lock; /* a caller's pool may run one job at a time */
};

/* One run on a caller's pool. `next` and `done` also order memory between the lanes and the caller,
 * whatever the pool does. */
typedef struct lanes_job {
    ry_task task;
    void *context;
    size_t tasks;
    atomic_size_t next;
    atomic_uint done;
} lanes_job;

static void run_lane(void *context, unsigned lane)
{
    lanes_job *j = context;
    for (;;) {
        size_t task = atomic_fetch_add_explicit(&j->next, 1, memory_order_acq_rel);
        if (task >= j->tasks) {
            break;
        }
        j->task(j->context, task, lane);
    }
    atomic_fetch_add_explicit(&j->done, 1, memory_order_release);
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

rynd_status ry_threads_create(const ry_allocator *allocator, unsigned count,
                              ry_parallel_for parallel_for, void *user, ry_threads **threads,
                              ry_error *error)
{
    ry_threads *t = ry_allocate_array(allocator, 1, sizeof *t);
    if (!t) {
        return ry_fail_memory(error);
    }
    const unsigned cpus = usable_cpus();
    t->allocator = allocator;
    t->count = count ? count : cpus;
    t->parallel_for = parallel_for;
    t->user = user;
    pthread_mutex_init(&t->lock, NULL);
    if (!parallel_for && t->count > 1) {
        rynd_status status =
            ry_team_create(allocator, t->count - 1, t->count > cpus, &t->team, error);
        if (status != RYND_OK) {
            ry_threads_destroy(t);
            return status;
        }
    }
    *threads = t;
    return RYND_OK;
}

void ry_threads_destroy(ry_threads *threads)
{
    if (threads) {
        ry_team_destroy(threads->team);
        pthread_mutex_destroy(&threads->lock);
        ry_release(threads->allocator, threads);
    }
}

unsigned ry_threads_count(const ry_threads *threads)
{
    return threads->count;
}

static void run_on_callers_pool(ry_threads *threads, size_t tasks, ry_task task, void *context)
{
    lanes_job job = {.task = task, .context = context, .tasks = tasks};
    atomic_init(&job.next, 0);
    atomic_init(&job.done, 0);
    const unsigned lanes = tasks < threads->count ? (unsigned)tasks : threads->count;
    pthread_mutex_lock(&threads->lock);
    threads->parallel_for(threads->user, lanes, run_lane, &job);
    pthread_mutex_unlock(&threads->lock);
    (void)atomic_load_explicit(&job.done, memory_order_acquire);
}

/* Several at once where they are short, but few enough that all threads have some until the end. */
static size_t grain_of(const ry_threads *threads, size_t tasks, double seconds)
{
    if (seconds <= 0) {
        return 1;
    }
    const size_t most = tasks / (4 * (size_t)threads->count);
    const double wanted = min_taken_seconds * (double)tasks / seconds;
    const size_t grain = wanted < (double)most ? (size_t)wanted : most;
    return grain ? grain : 1;
}

void ry_threads_run(ry_threads *threads, size_t tasks, double seconds, ry_task task, void *context)
{
    const bool known = seconds > 0;
    if (threads->count == 1 || tasks <= 1 || (known && seconds < RY_MIN_SHARED_SECONDS)) {
        for (size_t i = 0; i < tasks; i++) {
            task(context, i, 0);
        }
    } else if (threads->parallel_for) {
        run_on_callers_pool(threads, tasks, task, context);
    } else {
        ry_team_run(threads->team, tasks, grain_of(threads, tasks, seconds),
                    !known || seconds >= min_woken_seconds, task, context);
    }
}
