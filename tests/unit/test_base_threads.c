/* SPDX-License-Identifier: Apache-2.0 */
/* Every task runs once, no worker runs two at a time, whatever pool is below; what this CPU is. */
#include "base/cpuid.h"
#include "base/threads.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

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

static void check_run(ry_threads *threads, size_t tasks)
{
    record *r = calloc(1, sizeof *r);
    ry_threads_run(threads, tasks, note, r);
    for (size_t i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&r->ran[i]), i < tasks);
    }
    assert_int_equal(atomic_load(&r->clashes), 0);
    free(r);
}

static void check_pool(unsigned count, ry_parallel_for parallel_for)
{
    static const size_t tasks[] = {0, 1, 2, 7, 8, 9, TASKS};
    ry_threads *threads;
    assert_int_equal(ry_threads_create(&ry_system_allocator, count, parallel_for, NULL, &threads, NULL), RYND_OK);
    assert_int_equal(ry_threads_count(threads), count);
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        check_run(threads, tasks[i]);
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
static void one_by_one(void *user, unsigned lanes, void (*body)(void *body_context, unsigned lane), void *body_context)
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

enum { CALLERS = 4, RUNS = 200 };

typedef struct shared {
    ry_threads *threads;
    record *record;
} shared;

static void *run_many(void *context)
{
    shared *s = context;
    for (int i = 0; i < RUNS; i++) {
        ry_threads_run(s->threads, i % 2 ? 1 : 100, note, s->record);
    }
    return NULL;
}

/* Several threads share a pool: their runs queue up, so that no worker is busy for two, not even with a single task. */
static void test_shared(void **state)
{
    (void)state;
    shared s = {.record = calloc(1, sizeof(record))};
    pthread_t callers[CALLERS];
    assert_int_equal(ry_threads_create(&ry_system_allocator, 3, NULL, NULL, &s.threads, NULL), RYND_OK);
    for (int i = 0; i < CALLERS; i++) {
        assert_int_equal(pthread_create(&callers[i], NULL, run_many, &s), 0);
    }
    for (int i = 0; i < CALLERS; i++) {
        pthread_join(callers[i], NULL);
    }
    assert_int_equal(atomic_load(&s.record->clashes), 0);
    assert_int_equal(atomic_load(&s.record->ran[0]), CALLERS * RUNS);
    assert_int_equal(atomic_load(&s.record->ran[99]), CALLERS * RUNS / 2);
    free(s.record);
    ry_threads_destroy(s.threads);
    ry_threads_destroy(NULL);
}

static void test_cpu(void **state)
{
    (void)state;
    ry_cpu_info info;
    ry_threads *threads;
    ry_cpu_detect(&info);
    assert_true(info.cores >= 1 && info.name[0] && memchr(info.name, 0, sizeof info.name));
    assert_true(info.isa >= 0 && info.isa < RY_ISAS);
    assert_int_equal(ry_threads_create(&ry_system_allocator, 0, NULL, NULL, &threads, NULL), RYND_OK);
    assert_int_equal(ry_threads_count(threads), info.cores);
    ry_threads_destroy(threads);
    for (int i = 0; i < RY_ISAS; i++) {
        ry_isa isa;
        assert_true(ry_isa_parse(ry_isa_name((ry_isa)i), &isa) && (int)isa == i);
    }
    ry_isa none;
    assert_false(ry_isa_parse("mmx", &none));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_pool),
        cmocka_unit_test(test_callers_pool),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_cpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
