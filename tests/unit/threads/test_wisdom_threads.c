/* SPDX-License-Identifier: Apache-2.0 */
/* One wisdom, many threads: each finds what it put, and all find the best in the end. */
#include "wisdom/wisdom.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { THREADS = 4, PUTS = 50 };

typedef struct worker {
    ry_wisdom *wisdom;
    int index, wrong;
    pthread_t thread;
} worker;

static const ry_wisdom_key shared_key = {"conv n=1", 2, 2, "here"};

static bool all(void *user, const ry_wisdom_record *r)
{
    (void)user;
    (void)r;
    return true;
}

static bool put(ry_wisdom *wisdom, const ry_wisdom_key *key, const char *kernel, double median)
{
    const ry_wisdom_record r = {.kernel = kernel,
                                .form = "",
                                .source = 1,
                                .samples = 1,
                                .mean = median,
                                .median = median,
                                .min = median,
                                .max = median};
    return ry_wisdom_put(wisdom, key, &r, 1, NULL) == RYND_OK;
}

static double best(ry_wisdom *wisdom, const ry_wisdom_key *key)
{
    ry_arena arena;
    ry_wisdom_record r;
    ry_arena_init(&arena, &ry_system_allocator);
    const bool found = ry_wisdom_best(wisdom, key, all, NULL, &arena, &r);
    ry_arena_free(&arena);
    return found ? r.median : -1;
}

static void *work(void *given)
{
    worker *w = given;
    char problem[32], kernel[32];
    const ry_wisdom_key own = {problem, 2, 2, "here"};
    snprintf(problem, sizeof problem, "conv n=%d", 10 + w->index);
    for (int i = 1; i <= PUTS; i++) {
        const double median = 1.0 / (w->index + THREADS * i);
        snprintf(kernel, sizeof kernel, "kernel_%d_%d", w->index, i);
        w->wrong += !put(w->wisdom, &own, kernel, median) || best(w->wisdom, &own) != median;
        w->wrong += !put(w->wisdom, &shared_key, kernel, median) ||
                    !(best(w->wisdom, &shared_key) <= median);
        if (ry_wisdom_claim(w->wisdom, &shared_key, 100)) {
            ry_wisdom_disclaim(w->wisdom, &shared_key);
        }
    }
    return NULL;
}

static void test_threads(void **state)
{
    (void)state;
    char path[] = "/tmp/rynd_wisdom_threads_XXXXXX";
    const int file = mkstemp(path);
    assert_true(file >= 0);
    close(file); /* an empty file becomes a wisdom */
    for (int kept = 0; kept < 2; kept++) {
        ry_wisdom *wisdom;
        worker workers[THREADS];
        assert_int_equal(
            ry_wisdom_open(kept ? path : NULL, false, &ry_system_allocator, &wisdom, NULL),
            RYND_OK);
        for (int i = 0; i < THREADS; i++) {
            workers[i] = (worker){.wisdom = wisdom, .index = i};
            assert_int_equal(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
        }
        for (int i = 0; i < THREADS; i++) {
            assert_int_equal(pthread_join(workers[i].thread, NULL), 0);
            assert_int_equal(workers[i].wrong, 0);
        }
        assert_true(best(wisdom, &shared_key) == 1.0 / (THREADS - 1 + THREADS * PUTS));
        assert_null(ry_wisdom_failure(wisdom));
        ry_wisdom_close(wisdom);
    }
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_threads)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
