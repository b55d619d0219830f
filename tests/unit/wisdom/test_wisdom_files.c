/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are no wisdom, or cannot be read or written: what is measured is kept in memory, one
 * warning says so, and the file is as it was. */
#include "wisdom/wisdom.h"

#include "wisdom_file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static const ry_wisdom_key key = {"conv n=1", 6, 2, "here"};

static int set_up(void **state)
{
    const int status = wisdom_file_set_up(state);
    signal(SIGXFSZ, SIG_IGN);
    return status ? status : chmod(wisdom_folder, 0777);
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

static bool all(void *user, const ry_wisdom_record *r)
{
    (void)user;
    (void)r;
    return true;
}

typedef struct warnings {
    int count;
    char text[2048];
} warnings;

static void warn(void *user, const char *message)
{
    warnings *w = user;
    w->count++;
    snprintf(w->text, sizeof w->text, "%s", message);
}

static ry_wisdom *open_wisdom(warnings *w)
{
    ry_wisdom *wisdom;
    ry_error error = {""};
    *w = (warnings){0};
    assert_int_equal(ry_wisdom_open(wisdom_path, false, &ry_system_allocator, &wisdom, &error),
                     RYND_OK);
    ry_wisdom_on_warning(wisdom, warn, w);
    return wisdom;
}

static void put(ry_wisdom *wisdom, const char *kernel, double median)
{
    ry_error error = {""};
    const ry_wisdom_record r = record(kernel, median);
    assert_int_equal(ry_wisdom_put(wisdom, &key, &r, 1, &error), RYND_OK);
}

static void finds(ry_wisdom *wisdom, const char *kernel)
{
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_wisdom_record r;
    const bool found = ry_wisdom_best(wisdom, &key, all, NULL, &arena, &r);
    assert_string_equal(found ? r.kernel : "", kernel);
    ry_arena_free(&arena);
}

/* A wisdom with the record "kept", closed. */
static void make_file(void)
{
    warnings w;
    ry_wisdom *wisdom = open_wisdom(&w);
    put(wisdom, "kept", 2e-5);
    ry_wisdom_close(wisdom);
    assert_int_equal(w.count, 0);
    assert_int_equal(access(wisdom_path, R_OK), 0);
}

static void write_file(const void *bytes, size_t size)
{
    FILE *file = fopen(wisdom_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static size_t read_file(void *bytes, size_t room)
{
    FILE *file = fopen(wisdom_path, "r");
    assert_non_null(file);
    const size_t size = fread(bytes, 1, room, file);
    fclose(file);
    return size;
}

/* A file that is none of ours: records are kept in memory, and taking in others fails. `known`: the
 * kernel of what could be read of it. */
static void is_memory_only(const char *known, const char *why)
{
    warnings w;
    ry_wisdom *wisdom = open_wisdom(&w);
    ry_error error = {""};
    size_t count;
    finds(wisdom, known);
    put(wisdom, "new", 1e-5);
    finds(wisdom, "new");
    put(wisdom, "newer", 1e-6);
    finds(wisdom, "newer");
    assert_int_equal(w.count, 1);
    assert_non_null(strstr(w.text, wisdom_path));
    if (!strstr(w.text, why)) {
        fail_msg("'%s' is not in '%s'", why, w.text);
    }
    assert_non_null(ry_wisdom_failure(wisdom));
    const ry_wisdom_row row = {key, record("imported", 1e-7)};
    assert_int_equal(ry_wisdom_merge(wisdom, &row, 1, &count, &error), RYND_ERROR_IO);
    assert_int_equal(ry_wisdom_clear(wisdom, NULL, &count, &error), RYND_ERROR_IO);
    assert_non_null(strstr(error.text, wisdom_path));
    finds(wisdom, "newer");
    assert_true(ry_wisdom_claim(wisdom, &key, 10));
    ry_wisdom_close(wisdom);
}

/* The same, and the file has the same bytes afterwards. */
static void is_refused(const char *why)
{
    static uint8_t before[1 << 18], after[1 << 18];
    const size_t size = read_file(before, sizeof before);
    is_memory_only("", why);
    assert_int_equal(read_file(after, sizeof after), size);
    assert_memory_equal(before, after, size);
}

static void test_garbage(void **state)
{
    (void)state;
    uint8_t bytes[5000];
    uint32_t random = 1;
    for (size_t i = 0; i < sizeof bytes; i++) {
        bytes[i] = (uint8_t)((random = random * 1664525 + 1013904223) >> 24);
    }
    write_file(bytes, sizeof bytes);
    is_refused("not a database");
    write_file("{}\n", 3);
    is_refused("not a database");
}

/* Whatever byte is wrong: nothing fails, and what is found is a record that was put. */
static void test_damage(void **state)
{
    (void)state;
    static uint8_t good[1 << 18], bad[1 << 18];
    make_file();
    const size_t size = read_file(good, sizeof good);
    assert_true(size > 4096);
    uint32_t random = 7;
    for (int round = 0; round < 120; round++) {
        memcpy(bad, good, size);
        const size_t length = round % 3 == 0 ? size * (size_t)(round + 1) / 121 : size;
        for (int i = 0; round % 3 && i < 1 + round / 4; i++) {
            random = random * 1664525 + 1013904223;
            bad[(random >> 8) % (round % 3 == 1 ? 200 : size)] = (uint8_t)random;
        }
        wisdom_file_forget();
        write_file(bad, length);
        warnings w;
        ry_wisdom *wisdom = open_wisdom(&w);
        ry_arena arena;
        ry_arena_init(&arena, &ry_system_allocator);
        ry_wisdom_record r;
        if (ry_wisdom_best(wisdom, &key, all, NULL, &arena, &r)) {
            assert_null(ry_wisdom_complaint(&key, &r));
        }
        put(wisdom, "new", 1e-300);
        finds(wisdom, "new");
        ry_wisdom_close(wisdom);
        ry_arena_free(&arena);
        assert_true(w.count <= 1);
    }
}

static void execute(const char *text)
{
    sqlite3 *db;
    assert_int_equal(sqlite3_open(wisdom_path, &db), SQLITE_OK);
    char *message = NULL;
    if (sqlite3_exec(db, text, NULL, NULL, &message) != SQLITE_OK) {
        fail_msg("%s: %s", text, message);
    }
    sqlite3_close(db);
}

static void test_not_ours(void **state)
{
    (void)state;
    execute("CREATE TABLE bookmarks(name TEXT)");
    is_refused("another program's database");
    wisdom_file_forget();
    make_file();
    execute("PRAGMA journal_mode=DELETE; PRAGMA user_version=3");
    is_refused("later version");
    wisdom_file_forget();
    make_file();
    execute("PRAGMA journal_mode=DELETE; CREATE TRIGGER t AFTER INSERT ON record BEGIN DELETE FROM "
            "record; END");
    is_refused("tables");
    wisdom_file_forget();
    make_file();
    execute("PRAGMA journal_mode=DELETE; DROP INDEX record_changed");
    is_refused("tables");
    wisdom_file_forget();
    make_file();
    execute("PRAGMA journal_mode=DELETE; DROP TABLE lease; CREATE VIEW lease AS SELECT 1");
    is_refused("tables");
}

static void test_not_a_file(void **state)
{
    (void)state;
    assert_int_equal(mkdir(wisdom_path, 0777), 0);
    is_memory_only("", "not a regular file");
    assert_int_equal(rmdir(wisdom_path), 0);
    assert_int_equal(mkfifo(wisdom_path, 0666), 0);
    is_memory_only("", "not a regular file");
    wisdom_file_forget();
    assert_int_equal(symlink("/dev/full", wisdom_path), 0);
    is_memory_only("", "not a regular file");
    wisdom_file_forget();
    assert_int_equal(symlink("/proc/nowhere/w.db", wisdom_path), 0);
    is_memory_only("", "");
    wisdom_file_forget();
    write_file("", 0); /* an empty one becomes a wisdom */
    make_file();
}

/* Root may write everything. */
static void be_nobody(bool nobody)
{
    if (getuid() == 0) {
        assert_int_equal(seteuid(nobody ? 65534 : 0), 0);
    }
}

static void test_read_only(void **state)
{
    (void)state;
    make_file();
    assert_int_equal(chmod(wisdom_path, 0444), 0);
    be_nobody(true);
    is_memory_only("kept", "");
    be_nobody(false);
    assert_int_equal(chmod(wisdom_folder, 0555), 0);
    be_nobody(true);
    is_memory_only("kept", "");
    be_nobody(false);
    assert_int_equal(chmod(wisdom_folder, 0777), 0);
    assert_int_equal(chmod(wisdom_path, 0), 0);
    be_nobody(true);
    is_memory_only("", "");
    be_nobody(false);
    wisdom_file_forget();
    assert_int_equal(chmod(wisdom_folder, 0555), 0);
    be_nobody(true);
    warnings w; /* nothing is there, and nothing can be made */
    ry_wisdom *wisdom = open_wisdom(&w);
    finds(wisdom, "");
    assert_int_equal(w.count, 0);
    put(wisdom, "new", 1);
    finds(wisdom, "new");
    assert_int_equal(w.count, 1);
    ry_wisdom_close(wisdom);
    be_nobody(false);
    assert_int_equal(chmod(wisdom_folder, 0777), 0);
}

static void limit_size(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* A file that cannot grow, as on a full disk: nothing that was written is lost. */
static void test_full(void **state)
{
    (void)state;
    make_file();
    warnings w;
    ry_wisdom *wisdom = open_wisdom(&w);
    finds(wisdom, "kept");
    limit_size(64 << 10);
    for (int i = 0; i < 200 && w.count == 0; i++) {
        char kernel[32];
        snprintf(kernel, sizeof kernel, "kernel_%d", i);
        put(wisdom, kernel, 1e-5 - 1e-8 * i);
        finds(wisdom, kernel);
    }
    assert_int_equal(w.count, 1);
    put(wisdom, "last", 1e-9);
    finds(wisdom, "last");
    ry_wisdom_close(wisdom);
    limit_size(RLIM_INFINITY);
    assert_int_equal(w.count, 1);
    wisdom = open_wisdom(&w);
    ry_error error = {""};
    size_t count;
    const ry_wisdom_filter kept = {.kernel = "kept"};
    assert_int_equal(ry_wisdom_clear(wisdom, &kept, &count, &error), RYND_OK);
    assert_int_equal(count, 1);
    assert_int_equal(w.count, 0);
    ry_wisdom_close(wisdom);
    wisdom_file_forget();
    limit_size(0);
    wisdom = open_wisdom(&w);
    put(wisdom, "new", 1);
    finds(wisdom, "new");
    assert_int_equal(w.count, 1);
    ry_wisdom_close(wisdom);
    limit_size(RLIM_INFINITY);
}

/* Another program that does not let go: it is waited for some seconds, once. */
static void test_locked(void **state)
{
    (void)state;
    for (int exclusive = 0; exclusive < 2; exclusive++) {
        sqlite3 *db;
        make_file();
        assert_int_equal(sqlite3_open(wisdom_path, &db), SQLITE_OK);
        assert_int_equal(sqlite3_exec(db,
                                      exclusive ? "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE; "
                                                  "UPDATE state SET changes=changes"
                                                : "BEGIN IMMEDIATE",
                                      NULL, NULL, NULL),
                         SQLITE_OK);
        warnings w;
        ry_wisdom *wisdom = open_wisdom(&w);
        finds(wisdom, exclusive ? "" : "kept");
        put(wisdom, "new", 1e-6);
        finds(wisdom, "new");
        put(wisdom, "newer", 1e-7);
        finds(wisdom, "newer");
        assert_int_equal(w.count, 1);
        assert_non_null(strstr(w.text, "locked"));
        ry_wisdom_close(wisdom);
        sqlite3_close(db);
        wisdom_file_forget();
    }
}

/* Rows that ry_wisdom_put would not have written are as good as none. */
static void test_hostile_rows(void **state)
{
    (void)state;
    static const char *const values[] = {
        "'',6,2,'k','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k',x'6100',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,x'61','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'a'||char(27)||'[2J','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,0,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,10,-1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,10,1e-9,0,9e999,1e-9,9e999,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,10,1e-9,0,'fast',1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,'ten',1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,x'00',10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,-5,0",
        "'conv n=1',6,2,hex(zeroblob(100)),'',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,0",
        "'conv n=1',6,2,'k','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,2",
        "'conv n=1',6,2,'k','',1,NULL,10,1e-9,0,1e-9,1e-9,1e-9,0,0,'yes'",
    };
    make_file();
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[512];
        snprintf(text, sizeof text, "INSERT OR REPLACE INTO record VALUES('here',%s,%zu)",
                 values[i], 100 + i);
        execute(text);
    }
    execute("UPDATE record SET changed=9223372036854775807 WHERE kernel='kept'");
    warnings w;
    ry_wisdom *wisdom = open_wisdom(&w);
    finds(wisdom, "kept");
    put(wisdom, "new", 1e-6);
    finds(wisdom, "new");
    assert_int_equal(w.count, 0);
    ry_wisdom_close(wisdom);
}

/* A file of version 1, whose records do not say where weights were, gets the column, with what it
 * holds; a frozen wisdom reads it as it is. */
static void test_first_version(void **state)
{
    (void)state;
    static const char first[] =
        "CREATE TABLE record(machine TEXT NOT NULL,problem TEXT NOT NULL,constants INTEGER NOT "
        "NULL,threads INTEGER NOT NULL,kernel TEXT NOT NULL,form TEXT NOT NULL,source INTEGER NOT "
        "NULL,rejected TEXT,samples INTEGER NOT NULL,mean REAL NOT NULL,variance REAL NOT NULL,"
        "median REAL NOT NULL,min REAL NOT NULL,max REAL NOT NULL,predicted REAL NOT NULL,"
        "time INTEGER NOT NULL,changed INTEGER NOT NULL,"
        "PRIMARY KEY(machine,problem,constants,threads,kernel,form,source)) WITHOUT ROWID";
    make_file();
    execute("DROP TABLE record");
    execute(first);
    execute("CREATE INDEX record_changed ON record(machine,changed)");
    execute("INSERT INTO record VALUES('here','conv n=1',6,2,'old','',1,NULL,3,1e-5,0.0,1e-5,1e-5,"
            "1e-5,0.0,7,1); PRAGMA user_version=1; PRAGMA journal_mode=DELETE");
    for (int frozen = 1; frozen >= 0; frozen--) {
        ry_wisdom *wisdom;
        ry_wisdom_record r;
        ry_arena arena;
        ry_error error;
        ry_arena_init(&arena, &ry_system_allocator);
        assert_int_equal(
            ry_wisdom_open(wisdom_path, frozen != 0, &ry_system_allocator, &wisdom, &error),
            RYND_OK);
        assert_true(ry_wisdom_best(wisdom, &key, all, NULL, &arena, &r));
        assert_true(strcmp(r.kernel, "old") == 0 && r.time == 7 && r.cold == 0);
        if (!frozen) {
            ry_wisdom_record cold = record("new", 1e-6);
            cold.cold = 1;
            assert_int_equal(ry_wisdom_put(wisdom, &key, &cold, 1, &error), RYND_OK);
            assert_true(ry_wisdom_best(wisdom, &key, all, NULL, &arena, &r));
            assert_int_equal(r.cold, 1);
        }
        assert_null(ry_wisdom_failure(wisdom));
        ry_wisdom_close(wisdom);
        ry_arena_free(&arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_garbage, wisdom_file_clean),
        cmocka_unit_test_setup(test_damage, wisdom_file_clean),
        cmocka_unit_test_setup(test_not_ours, wisdom_file_clean),
        cmocka_unit_test_setup(test_not_a_file, wisdom_file_clean),
        cmocka_unit_test_setup(test_read_only, wisdom_file_clean),
        cmocka_unit_test_setup(test_full, wisdom_file_clean),
        cmocka_unit_test_setup(test_locked, wisdom_file_clean),
        cmocka_unit_test_setup(test_hostile_rows, wisdom_file_clean),
        cmocka_unit_test_setup(test_first_version, wisdom_file_clean),
    };
    return cmocka_run_group_tests(tests, set_up, wisdom_file_tear_down);
}
