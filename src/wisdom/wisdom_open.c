/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing, and memory in the place of a file that cannot be used. */
#include "base/clock.h"
#include "wisdom/wisdom_inside.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

/* A file that is copied into memory may have so many bytes: a million records. */
#define MAX_COPY (INT64_C(512) << 20)

/* File systems of other machines: processes of two of them would not see each other's locks and
 * shared memory. Numbers of statfs(2). */
static const unsigned long networks[] = {
    0x6969,     /* NFS */
    0x517b,     /* SMB */
    0xfe534d42, /* SMB2 */
    0xff534d42, /* CIFS */
    0x01021997, /* 9P */
    0x5346414f, /* AFS */
    0x00c36400, /* Ceph */
    0x0bd00bd0, /* Lustre */
    0x47504653, /* GPFS */
    0x73757245, /* Coda */
    0x61636673, /* ACFS */
};

static bool is_on_network(const char *path)
{
    struct statfs about;
    if (statfs(path, &about) != 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        if (((unsigned long)about.f_type & 0xffffffff) == networks[i]) {
            return true;
        }
    }
    return false;
}

rynd_status ry_wisdom_open(const char *path, bool frozen, const ry_allocator *allocator,
                           ry_wisdom **wisdom, ry_error *error)
{
    *wisdom = NULL;
    if (path && strlen(path) + sizeof "./" > RY_WISDOM_PATH) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the wisdom's file has a name of %zu bytes: at most %d", strlen(path),
                       RY_WISDOM_PATH - (int)sizeof "./");
    }
    ry_wisdom *w = ry_allocate_array(allocator, 1, sizeof *w);
    if (!w) {
        return ry_fail_memory(error);
    }
    w->allocator = *allocator;
    w->frozen = frozen;
    w->in_memory = !path || !*path;
    /* names that SQLite has a meaning for (":memory:") begin otherwise */
    snprintf(w->path, sizeof w->path, "%s%s", !path || !*path || *path == '/' ? "" : "./",
             path ? path : "");
    pthread_mutex_init(&w->mutex, NULL);
    w->fork_mark = ry_fork_mark_create();
    ry_wisdom_cache_init(&w->cache, &w->allocator);
    *wisdom = w;
    return RYND_OK;
}

void ry_wisdom_close(ry_wisdom *wisdom)
{
    if (!wisdom) {
        return;
    }
    ry_wisdom_lock(wisdom);
    ry_wisdom_disconnect(&wisdom->connection);
    ry_wisdom_unlock(wisdom);
    ry_wisdom_cache_free(&wisdom->cache);
    ry_fork_mark_destroy(wisdom->fork_mark);
    pthread_mutex_destroy(&wisdom->mutex);
    const ry_allocator allocator = wisdom->allocator;
    ry_release(&allocator, wisdom);
}

/* Who forked may have held the mutex, and its connection is its own: SQLite says that a child may
 * not even close it. Memory is the child's. */
static void start_over(ry_wisdom *w)
{
    pthread_mutex_init(&w->mutex, NULL);
    if (!w->in_memory) {
        w->connection = (ry_wisdom_connection){0};
        ry_wisdom_cache_free(&w->cache);
        w->looked = 0;
    }
}

void ry_wisdom_lock(ry_wisdom *wisdom)
{
    enum { PARENTS, OWN, REPAIRED = 2 };
    int mark = PARENTS;
    if (wisdom->fork_mark && atomic_load(wisdom->fork_mark) != OWN) {
        if (atomic_compare_exchange_strong(wisdom->fork_mark, &mark, REPAIRED)) {
            start_over(wisdom);
            atomic_store(wisdom->fork_mark, OWN);
        }
        while (atomic_load(wisdom->fork_mark) != OWN) {
        }
    }
    pthread_mutex_lock(&wisdom->mutex);
}

/* Whoever is told may do anything, as wait for a lock that a caller of ours holds. */
static void tell(ry_wisdom *w)
{
    if (w->warn) {
        char message[RY_WISDOM_PATH + sizeof w->why + 128];
        snprintf(message, sizeof message,
                 "%s: %s; wisdom is kept in memory only: name another file, or off, by RYND_WISDOM",
                 w->path, w->why);
        w->warn(w->warn_user, message);
    }
}

void ry_wisdom_unlock(ry_wisdom *wisdom)
{
    const bool untold = wisdom->untold;
    wisdom->untold = false;
    pthread_mutex_unlock(&wisdom->mutex);
    if (untold) {
        tell(wisdom);
    }
}

void ry_wisdom_on_warning(ry_wisdom *wisdom, void (*warn)(void *user, const char *message),
                          void *user)
{
    if (wisdom) {
        wisdom->warn = warn;
        wisdom->warn_user = user;
    }
}

/* `connection` is to memory, with what could be read. */
static void stay_in_memory(ry_wisdom *w, const ry_wisdom_connection *connection)
{
    ry_wisdom_disconnect(&w->connection);
    ry_wisdom_cache_free(&w->cache);
    w->connection = *connection;
    w->in_memory = true;
    w->version = w->clears = 0;
}

/* Memory with nothing in it is to be had but where memory is out: then the next call tries again.
 */
static void fall_back(ry_wisdom *w, const char *why, bool copied, ry_wisdom_connection *connection)
{
    char ignored[sizeof w->why];
    const bool first = !w->failed;
    if (first) {
        snprintf(w->why, sizeof w->why, "%s", why);
    }
    if (copied || ry_wisdom_connect(NULL, connection, ignored, sizeof ignored) == SQLITE_OK) {
        stay_in_memory(w, connection);
        w->failed = true;
        w->untold = first;
    }
}

/* What can be said of a file without SQLite; false: `why` says why it is not used. A file that is
 * not there is one that can be made. */
static bool examine(const char *path, bool *there, bool *readable, char *why, size_t size)
{
    struct stat about;
    *readable = false;
    *there = stat(path, &about) == 0;
    if (!*there) {
        snprintf(why, size, "%s", strerror(errno));
        return errno == ENOENT;
    }
    if (!S_ISREG(about.st_mode)) {
        snprintf(why, size, "it is not a regular file");
        return false;
    }
    *readable = about.st_size <= MAX_COPY;
    if (!*readable) {
        snprintf(why, size, "it has more than 512 MiB");
        return false;
    }
    if (is_on_network(path)) {
        snprintf(why, size, "it is on a network's file system, where processes cannot share it");
        return false;
    }
    return true;
}

void ry_wisdom_load(ry_wisdom *wisdom)
{
    if (wisdom) {
        ry_wisdom_lock(wisdom);
        ry_wisdom_is_open(wisdom, false);
        ry_wisdom_unlock(wisdom);
    }
}

const char *ry_wisdom_failure(ry_wisdom *wisdom)
{
    if (!wisdom) {
        return NULL;
    }
    ry_wisdom_lock(wisdom);
    ry_wisdom_is_open(wisdom, false);
    const char *why = wisdom->failed ? wisdom->why : NULL;
    ry_wisdom_unlock(wisdom);
    return why;
}

static void make_folders(const char *path)
{
    char folder[RY_WISDOM_PATH];
    snprintf(folder, sizeof folder, "%s", path);
    for (char *at = strchr(folder + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = 0;
        /* an existing folder will do; other errors show when the file is created */
        mkdir(folder, 0777);
        *at = '/';
    }
}

static void open_frozen(ry_wisdom *w)
{
    ry_wisdom_connection copy;
    char why[sizeof w->why];
    if (ry_wisdom_copy_file(w->path, &copy, why, sizeof why) == SQLITE_OK) {
        stay_in_memory(w, &copy);
    } else {
        fall_back(w, why, false, &copy);
    }
}

static void open_file(ry_wisdom *w, bool readable)
{
    ry_wisdom_connection connection;
    char why[sizeof w->why];
    const int result = ry_wisdom_connect(w->path, &connection, why, sizeof why);
    if (result == SQLITE_OK) {
        w->connection = connection;
    } else if (result != SQLITE_NOMEM) {
        char ignored[sizeof w->why];
        const bool copied = readable && ry_wisdom_copy_file(w->path, &connection, ignored,
                                                            sizeof ignored) == SQLITE_OK;
        fall_back(w, why, copied, &connection);
    }
}

static void open_now(ry_wisdom *w, bool create)
{
    bool there, readable;
    char why[sizeof w->why], ignored[sizeof w->why];
    ry_wisdom_connection connection;
    const bool usable = w->in_memory || examine(w->path, &there, &readable, why, sizeof why);
    if (w->in_memory) {
        ry_wisdom_connect(NULL, &w->connection, why, sizeof why);
    } else if (w->frozen && readable) {
        open_frozen(w);
    } else if (!usable) {
        const bool copied = readable && ry_wisdom_copy_file(w->path, &connection, ignored,
                                                            sizeof ignored) == SQLITE_OK;
        fall_back(w, why, copied, &connection);
    } else if (w->frozen) {
        if (ry_wisdom_connect(NULL, &connection, why, sizeof why) == SQLITE_OK) {
            stay_in_memory(w, &connection);
        }
    } else if (there || create) {
        make_folders(w->path);
        open_file(w, readable);
    }
}

bool ry_wisdom_is_open(ry_wisdom *wisdom, bool create)
{
    if (!wisdom->connection.db) {
        open_now(wisdom, create);
    }
    return wisdom->connection.db != NULL;
}

void ry_wisdom_give_up(ry_wisdom *wisdom, int result)
{
    ry_wisdom_connection copy;
    char why[sizeof wisdom->why], ignored[sizeof wisdom->why];
    if ((result & 0xff) == SQLITE_NOMEM) {
        return;
    }
    snprintf(why, sizeof why, "%s", sqlite3_errmsg(wisdom->connection.db));
    sqlite3 *db = wisdom->connection.db;
    for (int i = 0; i < RY_WISDOM_STATEMENTS; i++) {
        sqlite3_reset(wisdom->connection.statement[i]);
    }
    const bool copied = !wisdom->in_memory && (result & 0xff) != SQLITE_CORRUPT &&
                        (result & 0xff) != SQLITE_NOTADB &&
                        ry_wisdom_copy(db, &copy, ignored, sizeof ignored) == SQLITE_OK;
    fall_back(wisdom, why, copied, &copy);
}
