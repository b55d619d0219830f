/* SPDX-License-Identifier: Apache-2.0 */
/* Every task runs once, no worker of a run has two at a time, nobody waits for a thread that took
 * nothing, whatever pool is below; what this CPU is. */
#include "base/cpuid.h"
#include "base/machine_cores.h"
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { TASKS = 10000, WORKERS = 8 };

typedef struct record {
    atomic_int ran[TASKS];
    atomic_int busy[WORKERS];
    atomic_int clashes;
} record;

static void note(void *context, size_t task, unsigned worker)
{
    record *r = context;
    if (worker >= WORKERS || atomic_fetch_add(&r->busy[worker], 1) != 0) {
        atomic_fetch_add(&r->clashes, 1);
        return;
    }
    atomic_fetch_add(&r->ran[task], 1);
    atomic_fetch_sub(&r->busy[worker], 1);
}

static void check_run(ry_threads *threads, size_t tasks, double seconds)
{
    record *r = calloc(1, sizeof *r);
    ry_threads_run(threads, tasks, seconds, note, r);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&r->ran[i]), i < tasks);
    }
    assert_int_equal(atomic_load(&r->clashes), 0);
    free(r);
}

static void check_pool(unsigned count, ry_parallel_for parallel_for)
{
    static const size_t tasks[] = {0, 1, 2, 7, 8, 9, TASKS};
    /* as told: not known; too short to share; several tasks at a time; one at a time */
    static const double seconds[] = {0, 1e-9, 20e-6, 1e-3, 1};
    ry_threads *threads;
    assert_int_equal(
        ry_threads_create(&ry_system_allocator, count, parallel_for, NULL, &threads, NULL),
        RYND_OK);
    assert_int_equal(ry_threads_count(threads), count);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        for (size_t k = 0; k < sizeof seconds / sizeof *seconds; k++) {
            check_run(threads, tasks[i], seconds[k]);
        }
    }
    ry_threads_destroy(threads);
}

static void test_own_pool(void **state)
{
    (void)state;
    for (unsigned count = 1; count <= WORKERS; count++) {
        check_pool(count, NULL);
    }
}

/* A caller's pool that has no threads at all: lanes one after the other, last first. */
static void one_by_one(void *user, unsigned lanes, void (*body)(void *body_context, unsigned lane),
                       void *body_context)
{
    (void)user;
    while (lanes-- > 0) {
        body(body_context, lanes);
    }
}

static void test_callers_pool(void **state)
{
    (void)state;
    check_pool(4, one_by_one);
}

enum { CALLERS = 12, RUNS = 200 };

typedef struct shared {
    ry_threads *threads;
    record *record;
} shared;

static void *run_many(void *context)
{
    const shared *s = context;
    for (int i = 0; i < RUNS; i++) {
        ry_threads_run(s->threads, i % 2 ? 1 : 100, 0, note, s->record);
    }
    return NULL;
}

/* Several threads share a team: each run has its own workers. There are more runs at once than the
 * team helps with. */
static void check_shared(ry_parallel_for parallel_for)
{
    ry_threads *threads;
    shared s[CALLERS];
    pthread_t callers[CALLERS];
    assert_int_equal(ry_threads_create(&ry_system_allocator, 3, parallel_for, NULL, &threads, NULL),
                     RYND_OK);
    for (int i = 0; i < CALLERS; i++) {
        s[i] = (shared){threads, calloc(1, sizeof(record))};
        assert_int_equal(pthread_create(&callers[i], NULL, run_many, &s[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i], NULL);
        assert_int_equal(atomic_load(&s[i].record->clashes), 0);
        assert_int_equal(atomic_load(&s[i].record->ran[0]), RUNS);
        assert_int_equal(atomic_load(&s[i].record->ran[99]), RUNS / 2);
        free(s[i].record);
    }
    ry_threads_destroy(threads);
    ry_threads_destroy(NULL);
}

static void test_shared(void **state)
{
    (void)state;
    check_shared(NULL);
    check_shared(one_by_one);
}

/* Teams of their own, all at once: more threads than processors. */
static void *run_own_team(void *context)
{
    shared *s = context;
    assert_int_equal(ry_threads_create(&ry_system_allocator, 4, NULL, NULL, &s->threads, NULL),
                     RYND_OK);
    run_many(s);
    ry_threads_destroy(s->threads);
    return NULL;
}

static void test_many_teams(void **state)
{
    (void)state;
    shared s[CALLERS];
    pthread_t callers[CALLERS];
    for (int i = 0; i < CALLERS; i++) {
        s[i].record = calloc(1, sizeof(record));
        assert_int_equal(pthread_create(&callers[i], NULL, run_own_team, &s[i]), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i], NULL);
        assert_int_equal(atomic_load(&s[i].record->ran[0]), RUNS);
        free(s[i].record);
    }
}

/* Tasks of very uneven length, the longest last, so that callers wait long enough to sleep. */
static void spend(void *context, size_t task, unsigned worker)
{
    struct timespec time = {0, task == 63 ? 2000000 : task % 16 == 0 ? 100000 : 0};
    if (time.tv_nsec) {
        nanosleep(&time, NULL);
    }
    note(context, task, worker);
}

static void test_uneven(void **state)
{
    (void)state;
    enum { REPEATS = 20 };
    record *r = calloc(1, sizeof *r);
    ry_threads *threads;
    assert_int_equal(ry_threads_create(&ry_system_allocator, 4, NULL, NULL, &threads, NULL),
                     RYND_OK);
    for (int i = 0; i < REPEATS; i++) {
        ry_threads_run(threads, 64, i % 2 ? 0 : 64e-6, spend, r);
    }
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(atomic_load(&r->ran[i]), REPEATS);
    }
    assert_int_equal(atomic_load(&r->clashes), 0);
    free(r);
    ry_threads_destroy(threads);
}

/* A task that runs tasks, on the same team. */
typedef struct outer {
    ry_threads *threads;
    record *inner[4];
} outer;

static void run_inner(void *context, size_t task, unsigned worker)
{
    (void)worker;
    const outer *o = context;
    ry_threads_run(o->threads, 50, 0, note, o->inner[task]);
}

static void test_nested(void **state)
{
    (void)state;
    outer o;
    assert_int_equal(ry_threads_create(&ry_system_allocator, 3, NULL, NULL, &o.threads, NULL),
                     RYND_OK);
    for (int i = 0; i < 4; i++) {
        o.inner[i] = calloc(1, sizeof(record));
    }
    ry_threads_run(o.threads, 4, 0, run_inner, &o);
    for (int i = 0; i < 4; i++) {
        for (size_t k = 0; k < 50; k++) {
            assert_int_equal(atomic_load(&o.inner[i]->ran[k]), 1);
        }
        assert_int_equal(atomic_load(&o.inner[i]->clashes), 0);
        free(o.inner[i]);
    }
    ry_threads_destroy(o.threads);
}

/* Every thread of the team, and one caller, are held by a job: another caller's job is done all the
 * same. */
enum { HELD = 3 };

typedef struct gate {
    ry_threads *threads;
    atomic_int inside;
    atomic_bool open;
} gate;

static void hold(void *context, size_t task, unsigned worker)
{
    (void)task;
    (void)worker;
    gate *g = context;
    atomic_fetch_add(&g->inside, 1);
    while (!atomic_load(&g->open)) {
        sched_yield();
    }
}

static void *run_held(void *context)
{
    gate *g = context;
    ry_threads_run(g->threads, HELD, 0, hold, g);
    return NULL;
}

static void test_held_helpers_delay_nobody(void **state)
{
    (void)state;
    gate g;
    atomic_init(&g.inside, 0);
    atomic_init(&g.open, false);
    pthread_t caller;
    assert_int_equal(ry_threads_create(&ry_system_allocator, HELD, NULL, NULL, &g.threads, NULL),
                     RYND_OK);
    assert_int_equal(pthread_create(&caller, NULL, run_held, &g), 0);
    while (atomic_load(&g.inside) < HELD) {
        sched_yield();
    }
    for (int i = 0; i < 10; i++) {
        check_run(g.threads, TASKS, 0);
    }
    assert_int_equal(atomic_load(&g.inside), HELD);
    atomic_store(&g.open, true);
    pthread_join(caller, NULL);
    ry_threads_destroy(g.threads);
}

static void test_cpu(void **state)
{
    (void)state;
    ry_cpu_info info;
    ry_threads *threads;
    ry_cpu_detect(&info);
    assert_true(ry_machine_cores() >= info.cores);
    assert_int_equal(ry_count_cores("0\n"), 1);
    assert_int_equal(ry_count_cores("0-3,8,10-11"), 7);
    assert_int_equal(ry_count_cores(""), 0);
    assert_int_equal(ry_count_cores("3-1"), 0);
    assert_int_equal(ry_count_cores("0-1,x"), 0);
    assert_int_equal(ry_count_cores("0-99999999999999999999"), 0);
    assert_true(info.cores >= 1 && info.name[0] && memchr(info.name, 0, sizeof info.name));
    assert_true(info.isa >= 0 && info.isa < RY_ISAS);
    assert_int_equal(ry_threads_create(&ry_system_allocator, 0, NULL, NULL, &threads, NULL),
                     RYND_OK);
    assert_int_equal(ry_threads_count(threads), info.cores);
    ry_threads_destroy(threads);
    for (int i = 0; i < RY_ISAS; i++) {
        ry_isa isa;
        assert_true(ry_isa_parse(ry_isa_name((ry_isa)i), &isa) && (int)isa == i);
    }
    ry_isa none;
    assert_false(ry_isa_parse("mmx", &none));
}

/* ThreadSanitizer ends a process that was forked when it starts threads. */
#if defined(__SANITIZE_THREAD__)
enum { FORK_ENDS = 1 };
#else
enum { FORK_ENDS = 0 };
#endif

static int run_in_child(ry_threads *threads)
{
    record *r = calloc(1, sizeof *r);
    int wrong = r == NULL;
    for (int round = 0; r && round < 3; round++) {
        ry_threads_run(threads, TASKS, 1, note, r);
        for (size_t i = 0; i < TASKS; i++) {
            wrong |= atomic_load(&r->ran[i]) != round + 1;
        }
    }
    free(r);
    ry_threads_destroy(threads);
    return wrong;
}

/* Helpers are started anew in the child, once while they sleep and once while they spin. */
static void test_fork(void **state)
{
    (void)state;
    if (FORK_ENDS) {
        print_message("skipped: ThreadSanitizer ends a forked child that starts threads\n");
        skip();
    }
    for (int asleep = 0; asleep < 2; asleep++) {
        ry_threads *threads;
        assert_int_equal(ry_threads_create(&ry_system_allocator, 4, NULL, NULL, &threads, NULL),
                         RYND_OK);
        check_run(threads, TASKS, 1);
        if (asleep) {
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        }
        const pid_t child = fork();
        if (child == 0) {
            _exit(run_in_child(threads));
        }
        int status = -1;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
        check_run(threads, TASKS, 1);
        ry_threads_destroy(threads);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_pool),
        cmocka_unit_test(test_callers_pool),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_many_teams),
        cmocka_unit_test(test_uneven),
        cmocka_unit_test(test_nested),
        cmocka_unit_test(test_held_helpers_delay_nobody),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
