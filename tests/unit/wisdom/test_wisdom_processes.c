/* SPDX-License-Identifier: Apache-2.0 */
/* Many processes on one file, some of them killed: what a process was told is kept is there
 * afterwards, and the file is whole. Leases of those that are gone; processes that were forked. */
#define _DEFAULT_SOURCE /* usleep */
#include "wisdom/wisdom.h"

#include "wisdom_file.h"

#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { PROCESSES = 16, PUTS = 200 };

static const ry_wisdom_key key = {"conv n=1", 6, 2, "here"};

static void count_warning(void *user, const char *message)
{
    (void)message;
    ++*(int *)user;
}

static ry_wisdom *open_wisdom(int *warnings)
{
    ry_wisdom *w = NULL;
    ry_wisdom_open(wisdom_path, false, &ry_system_allocator, &w, NULL);
    ry_wisdom_on_warning(w, count_warning, warnings);
    return w;
}

static ry_wisdom_record record(const char *kernel, double median)
{
    return (ry_wisdom_record){.kernel = kernel,
                              .form = "",
                              .source = 1,
                              .samples = 10,
                              .mean = median,
                              .median = median,
                              .min = median,
                              .max = median};
}

static bool put(ry_wisdom *w, const char *kernel, double median)
{
    const ry_wisdom_record r = record(kernel, median);
    return ry_wisdom_put(w, &key, &r, 1, NULL) == RYND_OK;
}

static bool all(void *user, const ry_wisdom_record *r)
{
    (void)user;
    (void)r;
    return true;
}

static bool finds(ry_wisdom *w, const char *kernel)
{
    ry_arena arena;
    ry_wisdom_record r;
    ry_arena_init(&arena, &ry_system_allocator);
    const bool found = ry_wisdom_best(w, &key, all, NULL, &arena, &r);
    const bool same = strcmp(found ? r.kernel : "", kernel) == 0;
    ry_arena_free(&arena);
    return same;
}

/* Two records a put, of which both or none are kept; says which puts came back. */
static void write_records(int process, int tell)
{
    int warnings = 0;
    ry_wisdom *w = open_wisdom(&warnings);
    for (int i = 0; i < PUTS; i++) {
        char names[2][32];
        ry_wisdom_record pair[2];
        for (int j = 0; j < 2; j++) {
            snprintf(names[j], sizeof names[j], "%c_%d_%d", "ab"[j], process, i);
            pair[j] = record(names[j], 1);
        }
        if (ry_wisdom_put(w, &key, pair, 2, NULL) != RYND_OK || warnings) {
            _exit(1);
        }
        const int done = process * PUTS + i;
        if (write(tell, &done, sizeof done) != sizeof done) {
            _exit(2);
        }
    }
    ry_wisdom_close(w);
    _exit(warnings);
}

static rynd_status mark(void *user, const ry_wisdom_key *k, const ry_wisdom_record *r,
                        ry_error *error)
{
    char(*there)[PROCESSES * PUTS] = user;
    int process, i;
    char which;
    (void)error;
    (void)k;
    assert_int_equal(sscanf(r->kernel, "%c_%d_%d", &which, &process, &i), 3);
    there[which == 'b'][process * PUTS + i]++;
    return RYND_OK;
}

static void check_integrity(void)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    assert_int_equal(sqlite3_open(wisdom_path, &db), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    assert_string_equal(sqlite3_column_text(statement, 0), "ok");
    sqlite3_finalize(statement);
    sqlite3_close(db);
}

/* Every second process is killed as soon as so many puts are done in all, wherever it is. */
static void kill_some(const pid_t *children, size_t done)
{
    for (int p = 1; p < PROCESSES; p += 2) {
        if (done == (size_t)(20 + 25 * p)) {
            kill(children[p], SIGKILL);
        }
    }
}

static void test_killed(void **state)
{
    (void)state;
    static char there[2][PROCESSES * PUTS], told[PROCESSES * PUTS];
    int ends[2], warnings = 0, which;
    pid_t children[PROCESSES];
    assert_int_equal(pipe(ends), 0);
    for (int p = 0; p < PROCESSES; p++) {
        children[p] = fork();
        assert_true(children[p] >= 0);
        if (children[p] == 0) {
            close(ends[0]);
            write_records(p, ends[1]);
        }
    }
    close(ends[1]);
    for (size_t done = 0; read(ends[0], &which, sizeof which) == sizeof which;) {
        told[which] = 1;
        kill_some(children, ++done);
    }
    close(ends[0]);
    for (int p = 0; p < PROCESSES; p++) {
        int status;
        assert_int_equal(waitpid(children[p], &status, 0), children[p]);
        /* a process may have ended before it was to be killed */
        assert_true(p % 2 && WIFSIGNALED(status) ? WTERMSIG(status) == SIGKILL
                                                 : WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
    ry_wisdom *w = open_wisdom(&warnings);
    ry_error error = {""};
    assert_int_equal(ry_wisdom_visit(w, NULL, mark, there, &error), RYND_OK);
    assert_true(put(w, "after", 1e-3));
    assert_true(finds(w, "after"));
    ry_wisdom_close(w);
    assert_int_equal(warnings, 0);
    for (int i = 0; i < PROCESSES * PUTS; i++) {
        assert_int_equal(there[0][i], there[1][i]);
        assert_true(!told[i] || there[0][i] == 1);
    }
    check_integrity();
}

static void test_leases(void **state)
{
    (void)state;
    int warnings = 0, status;
    const ry_wisdom_key other = {"conv n=2", 6, 2, "here"};
    ry_wisdom *a = open_wisdom(&warnings), *b = open_wisdom(&warnings);
    assert_true(ry_wisdom_claim(a, &key, 100));
    assert_false(ry_wisdom_claim(a, &key, 100));
    assert_false(ry_wisdom_claim(b, &key, 100));
    assert_true(ry_wisdom_claim(b, &other, 100));
    ry_wisdom_disclaim(a, &key);
    assert_true(ry_wisdom_claim(b, &key, 0)); /* its time is over at once */
    assert_true(ry_wisdom_claim(a, &key, 100));
    ry_wisdom_disclaim(a, &key);
    /* of a process that is gone */
    pid_t child = fork();
    if (child == 0) {
        ry_wisdom *w = open_wisdom(&warnings);
        const bool claimed = ry_wisdom_claim(w, &key, 100) && !ry_wisdom_claim(w, &other, 100);
        if (claimed) {
            kill(getpid(), SIGKILL);
        }
        _exit(1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_true(ry_wisdom_claim(a, &key, 100));
    assert_false(ry_wisdom_claim(a, &other, 100));
    ry_wisdom_close(a);
    ry_wisdom_close(b);
    assert_int_equal(warnings, 0);
}

/* A process that was forked has a connection of its own, and does not spoil its parent's. */
static void test_forked(void **state)
{
    (void)state;
    int warnings = 0, status;
    ry_wisdom *w = open_wisdom(&warnings);
    assert_true(put(w, "parents", 1e-4) && finds(w, "parents"));
    pid_t child = fork();
    if (child == 0) {
        const bool good = finds(w, "parents") && put(w, "childs", 1e-5) && finds(w, "childs");
        ry_wisdom_close(w);
        _exit(good && !warnings ? 0 : 1);
    }
    assert_true(put(w, "meanwhile", 1e-3));
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    for (int i = 0; i < 1000 && !finds(w, "childs"); i++) {
        usleep(10000);
    }
    assert_true(finds(w, "childs"));
    assert_true(put(w, "last", 1e-6) && finds(w, "last"));
    ry_wisdom_close(w);
    assert_int_equal(warnings, 0);
    check_integrity();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_killed, wisdom_file_clean),
        cmocka_unit_test_setup(test_leases, wisdom_file_clean),
        cmocka_unit_test_setup(test_forked, wisdom_file_clean),
    };
    return cmocka_run_group_tests(tests, wisdom_file_set_up, wisdom_file_tear_down);
}
