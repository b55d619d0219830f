/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that take tasks from a few slots of jobs, spin for a moment when there is nothing to
 * take, and then sleep.
 *
 * A job's tasks are cut into one range a worker. A worker begins with its own and then helps with
 * the others', so that from step to step a thread works on the same part of a tensor, which is in
 * its core's cache. */
#include "base/team.h"

#include "base/clock.h"
#include "base/fork_mark.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

/* Jobs that may run at once with help; a caller who finds no slot runs its job alone. */
enum { SLOTS = 8 };

/* How long a thread looks for work, or waits for others, before it sleeps. Waking takes 20 to 60
 * microseconds on machines with virtual processors, more than most steps of a small network;
 * between the steps of a run there are a few microseconds, and the caller's serial steps. */
static const double spin_seconds = 150e-6;

/* After this time a waiting thread yields its core, which the awaited thread may need. Not sooner:
 * another process would keep the core for milliseconds. */
static const double patient_seconds = 50e-6;

/* Looks between two readings of the clock, some 50 cycles each. */
enum { LOOKS = 32 };

/* `untaken` alone hands tasks out. It counts down, and a thread reads the job's other fields only
 * after it has taken a task: the job cannot end before that task is done, so they are this job's,
 * however late the thread is. A slot's next job may begin while a late thread looks at `untaken`:
 * the thread then takes a task of that one. */
typedef struct range {
    _Alignas(RY_ALIGNMENT) atomic_size_t untaken;
} range;

typedef struct slot {
    _Alignas(RY_ALIGNMENT) atomic_bool open; /* there may be tasks to take */
    atomic_size_t grain;                     /* a late thread may see another job's: any will do */
    range *ranges;                           /* one a worker of the team */
    ry_task task;
    void *context;
    size_t tasks;
    _Alignas(RY_ALIGNMENT) atomic_size_t done;
    atomic_bool caller_sleeps;
    _Alignas(RY_ALIGNMENT) atomic_bool used; /* by a caller */
} slot;

typedef struct helper {
    ry_team *team;
    unsigned worker;
    pthread_t thread;
} helper;

struct ry_team {
    slot slots[SLOTS];
    _Alignas(RY_ALIGNMENT) atomic_uint sleepers; /* helpers */
    atomic_bool stop;
    /* when the last job began that was too short to wake sleepers, in nanoseconds */
    atomic_llong short_job;
    bool crowded;
    const ry_allocator *allocator;
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    unsigned workers, helpers; /* helpers that have started */
    atomic_int *mark;          /* 0: this process was forked since; NULL: it is not known */
    range *ranges;
    helper helper[];
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

static size_t range_begin(const ry_team *team, size_t tasks, unsigned i)
{
    const size_t each = tasks / team->workers, extra = tasks % team->workers;
    return each * i + (i < extra ? i : extra);
}

/* Takes up to a grain of tasks of range i; returns how many. 0: none is left. */
static size_t take(const ry_team *team, slot *s, unsigned i, size_t *first)
{
    atomic_size_t *left = &s->ranges[i].untaken;
    size_t untaken = atomic_load_explicit(left, memory_order_relaxed);
    const size_t grain = atomic_load_explicit(&s->grain, memory_order_relaxed);
    while (untaken > 0) {
        const size_t count = untaken < grain ? untaken : grain;
        if (atomic_compare_exchange_weak_explicit(left, &untaken, untaken - count,
                                                  memory_order_acquire, memory_order_relaxed)) {
            *first = range_begin(team, s->tasks, i + 1) - untaken;
            return count;
        }
    }
    return 0;
}

/* Returns how many tasks it did; none is left to take then. */
static size_t run_tasks(const ry_team *team, slot *s, unsigned worker)
{
    size_t all = 0, first, count;
    for (unsigned i = 0; i < team->workers; i++) {
        const unsigned own = worker + i < team->workers ? worker + i : worker + i - team->workers;
        while ((count = take(team, s, own, &first)) > 0) {
            for (size_t task = first; task < first + count; task++) {
                s->task(s->context, task, worker);
            }
            all += count;
        }
    }
    return all;
}

static bool help_slot(ry_team *team, slot *s, unsigned worker)
{
    const size_t count =
        atomic_load_explicit(&s->open, memory_order_relaxed) ? run_tasks(team, s, worker) : 0;
    if (count == 0) {
        return false;
    }
    const size_t tasks = s->tasks;
    const size_t done = atomic_fetch_add(&s->done, count) + count;
    /* Either the caller sees that all is done before it sleeps, or it is seen here to sleep. The
     * slot may have another caller by now, who then looks once more. */
    if (done == tasks && atomic_load(&s->caller_sleeps)) {
        pthread_mutex_lock(&team->lock);
        pthread_mutex_unlock(&team->lock);
        pthread_cond_broadcast(&team->finished);
    }
    return true;
}

static bool any_untaken(ry_team *team)
{
    for (int i = 0; i < SLOTS; i++) {
        const slot *s = &team->slots[i];
        for (unsigned k = 0; atomic_load(&s->open) && k < team->workers; k++) {
            if (atomic_load(&s->ranges[k].untaken) > 0) {
                return true;
            }
        }
    }
    return false;
}

/* One turn of waiting; false: it is time to sleep. */
static bool spin_on(const ry_team *team, double start)
{
    const double waited = ry_clock_seconds() - start;
    if (team->crowded || waited > patient_seconds) {
        sched_yield();
    }
    return waited < spin_seconds;
}

static void sleep_until_work(ry_team *team)
{
    pthread_mutex_lock(&team->lock);
    atomic_fetch_add(&team->sleepers, 1);
    while (!any_untaken(team) && !atomic_load(&team->stop)) {
        pthread_cond_wait(&team->work, &team->lock);
    }
    atomic_fetch_sub(&team->sleepers, 1);
    pthread_mutex_unlock(&team->lock);
}

static void wait_for_work(ry_team *team)
{
    const double start = ry_clock_seconds();
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (any_untaken(team) || atomic_load_explicit(&team->stop, memory_order_relaxed)) {
                return;
            }
            relax();
        }
    } while (spin_on(team, start));
    sleep_until_work(team);
}

static void *help(void *argument)
{
    const helper *h = argument;
    ry_team *team = h->team;
    while (!atomic_load(&team->stop)) {
        bool helped = false;
        for (int i = 0; i < SLOTS; i++) {
            helped = help_slot(team, &team->slots[i], h->worker) || helped;
        }
        if (!helped) {
            wait_for_work(team);
        }
    }
    return NULL;
}

static void sleep_until_done(ry_team *team, slot *s)
{
    pthread_mutex_lock(&team->lock);
    atomic_store(&s->caller_sleeps, true);
    while (atomic_load(&s->done) < s->tasks) {
        pthread_cond_wait(&team->finished, &team->lock);
    }
    atomic_store(&s->caller_sleeps, false);
    pthread_mutex_unlock(&team->lock);
}

/* Until the tasks that helpers took are done. */
static void wait_for_helpers(ry_team *team, slot *s)
{
    double start = 0;
    do {
        for (int i = 0; i < LOOKS; i++) {
            if (atomic_load_explicit(&s->done, memory_order_acquire) == s->tasks) {
                return;
            }
            relax();
        }
        start = start > 0 ? start : ry_clock_seconds();
    } while (spin_on(team, start));
    sleep_until_done(team, s);
}

static void wake_helpers(ry_team *team, size_t wanted)
{
    const unsigned sleepers = atomic_load(&team->sleepers);
    if (sleepers == 0) {
        return;
    }
    /* a helper that is about to sleep has looked for work under it */
    pthread_mutex_lock(&team->lock);
    pthread_mutex_unlock(&team->lock);
    if (wanted >= sleepers) {
        pthread_cond_broadcast(&team->work);
        return;
    }
    for (size_t i = 0; i < wanted; i++) {
        pthread_cond_signal(&team->work);
    }
}

/* A job that is too short to wake anybody for itself does so for those that follow it: where the
 * job before it began within the time that a helper spins, helpers that were awake would stay
 * awake. */
static bool is_one_of_many(ry_team *team)
{
    if (atomic_load_explicit(&team->sleepers, memory_order_relaxed) == 0) {
        return false;
    }
    const long long now = (long long)(ry_clock_seconds() * 1e9);
    return now - atomic_exchange_explicit(&team->short_job, now, memory_order_relaxed) <
           (long long)(spin_seconds * 1e9);
}

static slot *find_slot(ry_team *team)
{
    for (int i = 0; i < SLOTS; i++) {
        bool used = false;
        slot *s = &team->slots[i];
        if (!atomic_load_explicit(&s->used, memory_order_relaxed) &&
            atomic_compare_exchange_strong_explicit(&s->used, &used, true, memory_order_acquire,
                                                    memory_order_relaxed)) {
            return s;
        }
    }
    return NULL;
}

/* What the threads of a team share, before there are any. */
static void begin(ry_team *team)
{
    for (int i = 0; i < SLOTS; i++) {
        slot *s = &team->slots[i];
        atomic_init(&s->open, false);
        s->ranges = team->ranges + (unsigned)i * team->workers;
        atomic_init(&s->grain, 1);
        atomic_init(&s->done, 0);
        atomic_init(&s->caller_sleeps, false);
        atomic_init(&s->used, false);
    }
    for (size_t i = 0; i < SLOTS * (size_t)team->workers; i++) {
        atomic_init(&team->ranges[i].untaken, 0);
    }
    atomic_init(&team->sleepers, 0);
    atomic_init(&team->stop, false);
    atomic_init(&team->short_job, -(long long)(spin_seconds * 1e9));
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->work, NULL);
    pthread_cond_init(&team->finished, NULL);
    team->helpers = 0;
}

/* Starts the helper threads; false if the system refuses one. */
static bool start_helpers(ry_team *team)
{
    for (unsigned i = 0; i + 1 < team->workers; i++) {
        team->helper[i] = (helper){.team = team, .worker = i + 1};
        if (pthread_create(&team->helper[i].thread, NULL, help, &team->helper[i]) != 0) {
            return false;
        }
        team->helpers++;
    }
    return true;
}

enum { FORKED, WHOLE, BEGINNING };

/* After a fork the helpers are missing and the lock may be held for ever. The first caller starts
 * the team again, with as many helpers as the system gives. False for other callers meanwhile. */
static bool is_whole(ry_team *team)
{
    if (!team->mark || atomic_load_explicit(team->mark, memory_order_acquire) == WHOLE) {
        return true;
    }
    int forked = FORKED;
    if (!atomic_compare_exchange_strong(team->mark, &forked, BEGINNING)) {
        return false;
    }
    begin(team);
    start_helpers(team);
    atomic_store_explicit(team->mark, WHOLE, memory_order_release);
    return true;
}

void ry_team_run(ry_team *team, size_t tasks, size_t grain, bool wake, ry_task task, void *context)
{
    slot *s = is_whole(team) ? find_slot(team) : NULL;
    if (!s) {
        for (size_t i = 0; i < tasks; i++) {
            task(context, i, 0);
        }
        return;
    }
    s->task = task;
    s->context = context;
    s->tasks = tasks;
    atomic_store_explicit(&s->grain, grain, memory_order_relaxed);
    atomic_store_explicit(&s->done, 0, memory_order_relaxed);
    for (unsigned i = 0; i < team->workers; i++) {
        const size_t count = range_begin(team, tasks, i + 1) - range_begin(team, tasks, i);
        atomic_store_explicit(&s->ranges[i].untaken, count, memory_order_release);
    }
    atomic_store(&s->open, true);
    if (tasks > grain && (wake || is_one_of_many(team))) {
        wake_helpers(team, (tasks - 1) / grain);
    }
    const size_t own = run_tasks(team, s, 0);
    atomic_store_explicit(&s->open, false, memory_order_relaxed);
    atomic_fetch_add(&s->done, own);
    wait_for_helpers(team, s);
    atomic_store_explicit(&s->used, false, memory_order_release);
}

rynd_status ry_team_create(const ry_allocator *allocator, unsigned helpers, bool crowded,
                           ry_team **team, ry_error *error)
{
    ry_team *t = ry_allocate_array(allocator, 1, sizeof *t + helpers * sizeof *t->helper);
    range *ranges = ry_allocate_array(allocator, SLOTS * ((size_t)helpers + 1), sizeof *ranges);
    if (!t || !ranges) {
        ry_release(allocator, ranges);
        ry_release(allocator, t);
        return ry_fail_memory(error);
    }
    t->ranges = ranges;
    t->workers = helpers + 1;
    t->crowded = crowded;
    t->allocator = allocator;
    t->mark = ry_fork_mark_create();
    begin(t);
    if (!start_helpers(t)) {
        ry_team_destroy(t);
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "cannot start %u threads", helpers);
    }
    *team = t;
    return RYND_OK;
}

static void end_helpers(ry_team *team)
{
    pthread_mutex_lock(&team->lock);
    atomic_store(&team->stop, true);
    pthread_mutex_unlock(&team->lock);
    pthread_cond_broadcast(&team->work);
    for (unsigned i = 0; i < team->helpers; i++) {
        pthread_join(team->helper[i].thread, NULL);
    }
    pthread_cond_destroy(&team->finished);
    pthread_cond_destroy(&team->work);
    pthread_mutex_destroy(&team->lock);
}

void ry_team_destroy(ry_team *team)
{
    if (!team) {
        return;
    }
    if (!team->mark || atomic_load(team->mark) == WHOLE) {
        end_helpers(team);
    }
    ry_fork_mark_destroy(team->mark);
    ry_release(team->allocator, team->ranges);
    ry_release(team->allocator, team);
}
