/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: what is put is found, by this process and others, the best that is known first. */
#include "wisdom/wisdom.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[] = "/tmp/rynd_wisdom_XXXXXX";
static char path[128];

static void remove_files(void)
{
    static const char *const ends[] = {"", "-wal", "-shm"};
    for (int i = 0; i < 3; i++) {
        char name[160];
        snprintf(name, sizeof name, "%s%s", path, ends[i]);
        remove(name);
    }
}

static int set_up(void **state)
{
    (void)state;
    snprintf(path, sizeof path, "%s/w.db", mkdtemp(folder) ? folder : "");
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    remove_files();
    return rmdir(folder);
}

static int clean(void **state)
{
    (void)state;
    remove_files();
    return 0;
}

static char fast[] = "fast";
static const ry_wisdom_key key = {"conv n=1", 6, 2, "here"};

static ry_wisdom_record record(const char *kernel, const char *form, double median)
{
    return (ry_wisdom_record){.kernel = kernel,
                              .form = form,
                              .source = UINT64_C(0xfedcba9876543210),
                              .samples = 10,
                              .mean = median,
                              .variance = 1e-12,
                              .median = median,
                              .min = median / 2,
                              .max = median * 2,
                              .predicted = 1e-5,
                              .time = 1700000000};
}

static bool all(void *user, const ry_wisdom_record *r)
{
    (void)user;
    (void)r;
    return true;
}

static bool not_named(void *user, const ry_wisdom_record *r)
{
    return strcmp(r->kernel, user) != 0;
}

static ry_wisdom *open_wisdom(const char *file, bool frozen)
{
    ry_wisdom *w;
    ry_error error = {""};
    assert_int_equal(ry_wisdom_open(file, frozen, &ry_system_allocator, &w, &error), RYND_OK);
    return w;
}

static void put(ry_wisdom *w, const ry_wisdom_key *k, ry_wisdom_record r)
{
    ry_error error = {""};
    assert_int_equal(ry_wisdom_put(w, k, &r, 1, &error), RYND_OK);
}

/* The kernel of the best; "" where there is none. */
static const char *best(ry_wisdom *w, const ry_wisdom_key *k, ry_arena *arena)
{
    ry_wisdom_record r;
    return ry_wisdom_best(w, k, all, NULL, arena, &r) ? r.kernel : "";
}

static void test_best(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    for (int file = 0; file < 2; file++) {
        ry_wisdom *w = open_wisdom(file ? path : NULL, false);
        ry_wisdom_record r;
        assert_false(ry_wisdom_best(w, &key, all, NULL, &arena, &r));
        put(w, &key, record("slow", "a=1", 3e-5));
        put(w, &key, record("fast", "a=2", 1e-5));
        put(w, &key, record("middle", "", 2e-5));
        ry_wisdom_record wrong = record("wrong", "a=1", 1e-6);
        wrong.rejected = "wrong: by 3";
        put(w, &key, wrong);
        assert_true(ry_wisdom_best(w, &key, all, NULL, &arena, &r));
        assert_string_equal(r.kernel, "fast");
        assert_string_equal(r.form, "a=2");
        assert_true(r.source == UINT64_C(0xfedcba9876543210) && r.samples == 10 &&
                    r.median == 1e-5 && r.variance == 1e-12 && r.time == 1700000000);
        assert_true(ry_wisdom_best(w, &key, not_named, fast, &arena, &r));
        assert_string_equal(r.kernel, "middle");
        put(w, &key, record("fast", "a=2", 4e-5)); /* measured again */
        assert_string_equal(best(w, &key, &arena), "middle");
        const ry_wisdom_key others[] = {{"conv n=2", 6, 2, "here"},
                                        {"conv n=1", 4, 2, "here"},
                                        {"conv n=1", 6, 1, "here"},
                                        {"conv n=1", 6, 2, "there"}};
        for (int i = 0; i < 4; i++) {
            assert_string_equal(best(w, &others[i], &arena), "");
        }
        ry_wisdom_close(w);
    }
    ry_wisdom *again = open_wisdom(path, false);
    assert_string_equal(best(again, &key, &arena), "middle");
    ry_wisdom_close(again);
    ry_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_best, clean),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
