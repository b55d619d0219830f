/* SPDX-License-Identifier: Apache-2.0 */
/* Wisdom: what is put is found, by this process and others, the best that is known first. */
#define _DEFAULT_SOURCE /* usleep */
#include "wisdom/wisdom.h"

#include "wisdom_file.h"

#include <math.h>
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

/* The kernel of the best record, or "". */
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
        ry_wisdom *w = open_wisdom(file ? wisdom_path : NULL, false);
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
    ry_wisdom *again = open_wisdom(wisdom_path, false);
    assert_string_equal(best(again, &key, &arena), "middle");
    ry_wisdom_close(again);
    ry_arena_free(&arena);
}

static void test_another_process(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_wisdom *a = open_wisdom(wisdom_path, false), *b = open_wisdom(wisdom_path, false);
    put(a, &key, record("first", "", 2e-5));
    assert_string_equal(best(b, &key, &arena), "first");
    const ry_wisdom_key other = {"conv n=3", 0, 1, "here"};
    assert_string_equal(best(b, &other, &arena), "");
    put(a, &other, record("second", "", 2e-5));
    assert_string_equal(best(b, &other, &arena), "second"); /* what is missing is looked for */
    put(a, &key, record("better", "", 1e-5));
    for (int i = 0; i < 1000 && strcmp(best(b, &key, &arena), "better") != 0; i++) {
        usleep(10000); /* until it looks again */
    }
    assert_string_equal(best(b, &key, &arena), "better");
    size_t cleared;
    ry_error error = {""};
    const ry_wisdom_filter filter = {.kernel = "bett*"};
    assert_int_equal(ry_wisdom_clear(a, &filter, &cleared, &error), RYND_OK);
    assert_int_equal(cleared, 1);
    assert_string_equal(best(a, &key, &arena), "first");
    for (int i = 0; i < 1000 && strcmp(best(b, &key, &arena), "first") != 0; i++) {
        usleep(10000);
    }
    assert_string_equal(best(b, &key, &arena), "first");
    ry_wisdom_close(a);
    ry_wisdom_close(b);
    ry_arena_free(&arena);
}

static void test_nothing(void **state)
{
    (void)state;
    ry_wisdom_record r = record("k", "", 1);
    ry_error error = {""};
    size_t count = 7;
    assert_false(ry_wisdom_best(NULL, &key, all, NULL, NULL, &r));
    assert_int_equal(ry_wisdom_put(NULL, &key, &r, 1, &error), RYND_OK);
    assert_true(ry_wisdom_claim(NULL, &key, 5));
    ry_wisdom_disclaim(NULL, &key);
    ry_wisdom_load(NULL);
    ry_wisdom_on_warning(NULL, NULL, NULL);
    assert_null(ry_wisdom_failure(NULL));
    assert_int_equal(ry_wisdom_visit(NULL, NULL, NULL, NULL, &error), RYND_OK);
    assert_int_equal(ry_wisdom_clear(NULL, NULL, &count, &error), RYND_OK);
    assert_int_equal(count, 0);
    ry_wisdom_close(NULL);
    /* nor is a file made by asking */
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_wisdom *w = open_wisdom(wisdom_path, false);
    assert_string_equal(best(w, &key, &arena), "");
    ry_wisdom_disclaim(w, &key);
    ry_wisdom_close(w);
    ry_arena_free(&arena);
    assert_int_equal(access(wisdom_path, F_OK), -1);
    char long_path[RY_WISDOM_PATH + 1];
    memset(long_path, 'a', sizeof long_path - 1);
    long_path[sizeof long_path - 1] = 0;
    assert_int_equal(ry_wisdom_open(long_path, false, &ry_system_allocator, &w, &error),
                     RYND_ERROR_ARGUMENT);
    assert_null(w);
}

static void test_what_a_record_may_have(void **state)
{
    (void)state;
    ry_wisdom *w = open_wisdom(wisdom_path, false);
    ry_error error = {""};
    const ry_wisdom_record good = record("k", "", 1e-5);
    char huge[RY_WISDOM_PROBLEM + 1];
    memset(huge, 'a', sizeof huge - 1);
    huge[sizeof huge - 1] = 0;
    ry_wisdom_record bad[14];
    for (int i = 0; i < 14; i++) {
        bad[i] = good;
    }
    bad[0].kernel = "";
    bad[1].kernel = "k\n";
    bad[2].form = huge;
    bad[3].rejected = "";
    bad[4].samples = 0;
    bad[5].mean = (double)NAN;
    bad[6].variance = -1;
    bad[7].median = 0;
    bad[8].min = 2e-5;
    bad[9].max = (double)INFINITY;
    bad[10].predicted = -1;
    bad[11].time = -1;
    bad[12].form = "f\x7f";
    bad[13].form = "f\x1f";
    for (int i = 0; i < 14; i++) {
        assert_int_equal(ry_wisdom_put(w, &key, &bad[i], 1, &error), RYND_ERROR_ARGUMENT);
    }
    const ry_wisdom_key bad_keys[] = {{"", 0, 1, "here"},     {huge, 0, 1, "here"},
                                      {"conv", 0, 0, "here"}, {"conv", 0, 1025, "here"},
                                      {"conv", 0, 1, ""},     {"conv \xc3\xa9", 0, 1, "here"}};
    for (int i = 0; i < 6; i++) {
        assert_int_equal(ry_wisdom_put(w, &bad_keys[i], &good, 1, &error), RYND_ERROR_ARGUMENT);
    }
    const ry_wisdom_record printable = record("k", " ~", 1e-5);
    assert_int_equal(ry_wisdom_put(w, &key, &printable, 1, &error), RYND_OK);
    ry_wisdom_record rejected = {.kernel = "k", .form = "", .rejected = "too slow to be timed"};
    assert_int_equal(ry_wisdom_put(w, &key, &rejected, 1, &error), RYND_OK);
    ry_wisdom_close(w);
}

static void test_frozen(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_error error = {""};
    const ry_wisdom_record r = record("late", "", 1e-6);
    size_t count;
    ry_wisdom *nothing = open_wisdom(wisdom_path, true);
    ry_wisdom_load(nothing);
    ry_wisdom *w = open_wisdom(wisdom_path, false);
    put(w, &key, record("early", "", 2e-5));
    ry_wisdom *frozen = open_wisdom(wisdom_path, true);
    ry_wisdom_load(frozen);
    put(w, &key, r);
    assert_string_equal(best(w, &key, &arena), "late");
    usleep((useconds_t)(2e6 * RY_WISDOM_REFRESH));
    assert_string_equal(best(frozen, &key, &arena), "early");
    assert_string_equal(best(nothing, &key, &arena), "");
    assert_int_equal(ry_wisdom_put(frozen, &key, &r, 1, &error), RYND_ERROR_ARGUMENT);
    assert_int_equal(ry_wisdom_clear(frozen, NULL, &count, &error), RYND_ERROR_ARGUMENT);
    const ry_wisdom_row row = {key, r};
    assert_int_equal(ry_wisdom_merge(frozen, &row, 1, &count, &error), RYND_ERROR_ARGUMENT);
    assert_false(ry_wisdom_claim(frozen, &key, 10));
    ry_wisdom_close(nothing);
    ry_wisdom_close(frozen);
    ry_wisdom_close(w);
    ry_arena_free(&arena);
}

static void test_merge(void **state)
{
    (void)state;
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_error error = {""};
    ry_wisdom *w = open_wisdom(wisdom_path, false);
    put(w, &key, record("k", "", 2e-5));
    ry_wisdom_row rows[2] = {{key, record("k", "", 1e-5)}, {key, record("l", "", 3e-5)}};
    size_t taken;
    rows[0].record.samples = 9; /* fewer */
    assert_int_equal(ry_wisdom_merge(w, rows, 2, &taken, &error), RYND_OK);
    assert_int_equal(taken, 1);
    ry_wisdom_record r;
    assert_true(ry_wisdom_best(w, &key, all, NULL, &arena, &r) && r.median == 2e-5);
    rows[0].record.samples = 10;
    rows[0].record.variance = 1e-13; /* less */
    assert_int_equal(ry_wisdom_merge(w, rows, 2, &taken, &error), RYND_OK);
    assert_int_equal(taken, 1);
    assert_true(ry_wisdom_best(w, &key, all, NULL, &arena, &r) && r.median == 1e-5);
    rows[0].record.rejected = "wrong";
    rows[0].record.samples = 1;
    assert_int_equal(ry_wisdom_merge(w, rows, 1, &taken, &error), RYND_OK);
    assert_int_equal(taken, 1);
    assert_string_equal(best(w, &key, &arena), "l");
    rows[1].record.median = -1;
    rows[0].record.samples = 100;
    assert_int_equal(ry_wisdom_merge(w, rows, 2, &taken, &error), RYND_ERROR_ARGUMENT);
    assert_int_equal(taken, 0); /* not the good one, either */
    assert_string_equal(best(w, &key, &arena), "l");
    ry_wisdom_close(w);
    ry_arena_free(&arena);
}

static rynd_status note(void *user, const ry_wisdom_key *k, const ry_wisdom_record *r,
                        ry_error *error)
{
    char *text = user;
    (void)error;
    snprintf(text + strlen(text), 200 - strlen(text), "%s %s %u %u %s %s\n", k->machine, k->problem,
             k->constants, k->threads, r->kernel, r->form);
    return RYND_OK;
}

static void test_visit(void **state)
{
    (void)state;
    ry_wisdom *w = open_wisdom(wisdom_path, false);
    ry_error error = {""};
    const ry_wisdom_key keys[] = {{"b", 0, 10, "x"}, {"b", 0, 9, "x"}, {"a", 0, 1, "y"}};
    put(w, &keys[0], record("k", "", 1));
    put(w, &keys[1], record("k", "", 1));
    put(w, &keys[2], record("l", "", 1));
    put(w, &keys[1], record("j", "z", 1));
    put(w, &keys[1], record("j", "y", 1));
    char text[200] = "";
    assert_int_equal(ry_wisdom_visit(w, NULL, note, text, &error), RYND_OK);
    assert_string_equal(text, "x b 0 9 j y\nx b 0 9 j z\nx b 0 9 k \nx b 0 10 k \ny a 0 1 l \n");
    const ry_wisdom_filter filters[] = {{"y", NULL, NULL}, {NULL, "[lm]", "?"}, {"z", NULL, NULL}};
    static const char *const found[] = {"y a 0 1 l \n", "y a 0 1 l \n", ""};
    for (int i = 0; i < 3; i++) {
        text[0] = 0;
        assert_int_equal(ry_wisdom_visit(w, &filters[i], note, text, &error), RYND_OK);
        assert_string_equal(text, found[i]);
    }
    ry_wisdom_close(w);
}

static void test_fingerprint(void **state)
{
    (void)state;
    char text[RY_WISDOM_FINGERPRINT];
    ry_machine machine = {.vendor = "AuthenticAMD",
                          .name = "AMD EPYC",
                          .isa = "avx512",
                          .family = 0x19,
                          .model = 0x11,
                          .cores = 8};
    ry_wisdom_fingerprint(&machine, text);
    assert_string_equal(text, "AuthenticAMD family=19 model=11 isa=avx512 cores=8 device=cpu");
    machine.group_items = 256;
    snprintf(machine.name, sizeof machine.name, "Some \xe2\x84\xa2 GPU");
    ry_wisdom_fingerprint(&machine, text);
    assert_string_equal(text,
                        "AuthenticAMD family=19 model=11 isa=avx512 cores=8 device=Some_____GPU");
}

static void test_paths(void **state)
{
    (void)state;
    char found[RY_WISDOM_PATH];
    setenv("RYND_WISDOM", "off", 1);
    assert_false(ry_wisdom_path(NULL, found));
    assert_true(ry_wisdom_path("a.db", found));
    assert_string_equal(found, "a.db");
    setenv("RYND_WISDOM", "/b.db", 1);
    assert_true(ry_wisdom_path(NULL, found));
    assert_string_equal(found, "/b.db");
    assert_false(ry_wisdom_path("off", found));
    unsetenv("RYND_WISDOM");
    setenv("XDG_CACHE_HOME", "/cache", 1);
    assert_true(ry_wisdom_path(NULL, found));
    assert_string_equal(found, "/cache/rynd/wisdom.db");
    setenv("XDG_CACHE_HOME", "relative", 1);
    setenv("HOME", "/home/somebody", 1);
    assert_true(ry_wisdom_path(NULL, found));
    assert_string_equal(found, "/home/somebody/.cache/rynd/wisdom.db");
    unsetenv("HOME");
    assert_false(ry_wisdom_path(NULL, found));
    setenv("RYND_WISDOM", "off", 1);
}

static double best_median(ry_wisdom *w, const ry_wisdom_key *k)
{
    ry_arena arena;
    ry_wisdom_record r;
    ry_arena_init(&arena, &ry_system_allocator);
    const bool found = ry_wisdom_best(w, k, all, NULL, &arena, &r);
    ry_arena_free(&arena);
    return found ? r.median : 0;
}

/* What a key had of some kernels goes with a new measurement, for other processes, too; the rest
 * stays. */
static void test_replace(void **state)
{
    (void)state;
    const ry_wisdom_key another = {"conv n=2", 6, 2, "here"};
    ry_wisdom *w = open_wisdom(wisdom_path, false), *other = open_wisdom(wisdom_path, false);
    ry_error error;
    const ry_wisdom_record before[] = {record("a", "x=1", 1e-5), record("a", "x=2", 2e-5),
                                       record("b", "", 3e-5)};
    const ry_wisdom_record after = record("a", "x=2", 9e-5);
    const ry_wisdom_kernel kernels[] = {{"a", after.source}, {"b", after.source + 1}};
    assert_int_equal(ry_wisdom_put(w, &key, before, 3, &error), RYND_OK);
    assert_int_equal(ry_wisdom_put(w, &another, before, 3, &error), RYND_OK);
    assert_true(best_median(other, &key) == 1e-5 && best_median(w, &key) == 1e-5);
    assert_int_equal(ry_wisdom_replace(w, &key, kernels, 2, &after, 1, &error), RYND_OK);
    assert_true(best_median(w, &key) == 3e-5); /* the record of another source */
    usleep((useconds_t)(RY_WISDOM_REFRESH * 2e6));
    assert_true(best_median(other, &key) == 3e-5);
    const ry_wisdom_kernel any = {"b", 0};
    assert_int_equal(ry_wisdom_replace(w, &key, &any, 1, &after, 1, &error), RYND_OK);
    assert_true(best_median(w, &key) == 9e-5 && best_median(w, &another) == 1e-5);
    ry_wisdom_close(other);
    ry_wisdom_close(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_best, wisdom_file_clean),
        cmocka_unit_test_setup(test_another_process, wisdom_file_clean),
        cmocka_unit_test_setup(test_nothing, wisdom_file_clean),
        cmocka_unit_test_setup(test_what_a_record_may_have, wisdom_file_clean),
        cmocka_unit_test_setup(test_frozen, wisdom_file_clean),
        cmocka_unit_test_setup(test_merge, wisdom_file_clean),
        cmocka_unit_test_setup(test_visit, wisdom_file_clean),
        cmocka_unit_test_setup(test_replace, wisdom_file_clean),
        cmocka_unit_test(test_fingerprint),
        cmocka_unit_test(test_paths),
    };
    return cmocka_run_group_tests(tests, wisdom_file_set_up, wisdom_file_tear_down);
}
