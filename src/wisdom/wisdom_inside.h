/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of wisdom/ share: the connection, its statements, the cache. All but the functions
 * of wisdom.h are called with the mutex held. */
#ifndef RY_WISDOM_WISDOM_INSIDE_H
#define RY_WISDOM_WISDOM_INSIDE_H

#include "base/fork_mark.h"
#include "wisdom/wisdom.h"
#include "wisdom/wisdom_cache.h"

#include <pthread.h>
#include <sqlite3.h>

/* The statements that are kept prepared; wisdom_schema.c has their texts. */
typedef enum ry_wisdom_statement {
    RY_WISDOM_DATA_VERSION, /* changes where another connection has written */
    RY_WISDOM_STATE,        /* changes, clears */
    RY_WISDOM_LOAD,         /* the records of a key */
    RY_WISDOM_LOAD_NEW,     /* records of machine ?1 changed after ?2, with their change number */
    RY_WISDOM_BEGIN,
    RY_WISDOM_COMMIT,
    RY_WISDOM_ROLLBACK,
    RY_WISDOM_COUNT_CHANGE,
    RY_WISDOM_COUNT_CLEAR,
    RY_WISDOM_PUT,
    RY_WISDOM_FORGET, /* the records of a key that are of a kernel and a source; source 0: any */
    RY_WISDOM_GET,    /* the record of a key, kernel, form and source */
    RY_WISDOM_VISIT,  /* all records, sorted */
    RY_WISDOM_LEASE,
    RY_WISDOM_LEND,
    RY_WISDOM_RETURN,
    RY_WISDOM_STATEMENTS
} ry_wisdom_statement;

typedef struct ry_wisdom_connection {
    sqlite3 *db;
    sqlite3_stmt *statement[RY_WISDOM_STATEMENTS];
} ry_wisdom_connection;

struct ry_wisdom {
    ry_allocator allocator;
    pthread_mutex_t mutex;
    atomic_int *fork_mark; /* NULL: the system has none, and a forked process is not told */
    char path[RY_WISDOM_PATH];
    bool frozen;
    bool in_memory; /* the connection is to memory, and stays so */
    bool failed;    /* in memory though there is a path: `why` says why */
    char why[512];  /* written once */
    bool untold;    /* that it failed: to be told when the mutex is free */
    void (*warn)(void *user, const char *message);
    void *warn_user;
    ry_wisdom_connection connection; /* db NULL: not needed yet */
    ry_wisdom_cache cache;
    int64_t version, clears; /* counters of the file when the cache was filled */
    double looked;           /* at the file: seconds of the clock */
};

/* wisdom_schema.c */

/* Opens a file for reading and writing, or memory where path is NULL, gives an empty one its
 * tables, checks those that are there, and prepares the statements. The result is SQLite's; where
 * it is not SQLITE_OK nothing is open, and `why` says what was wrong. */
int ry_wisdom_connect(const char *path, ry_wisdom_connection *connection, char *why, size_t size);
/* Makes a copy in memory of what a file holds, and never writes to it. */
int ry_wisdom_copy_file(const char *path, ry_wisdom_connection *connection, char *why, size_t size);
/* The same of a connection. */
int ry_wisdom_copy(sqlite3 *from, ry_wisdom_connection *connection, char *why, size_t size);
void ry_wisdom_disconnect(ry_wisdom_connection *connection);

/* wisdom_open.c */

/* Locks, and sees to it that a forked process does not use its parent's connection. */
void ry_wisdom_lock(ry_wisdom *wisdom);
void ry_wisdom_unlock(ry_wisdom *wisdom);

/* Opens the connection if needed; `create` also creates a missing file. False without a connection:
 * no file, or out of memory. */
bool ry_wisdom_is_open(ry_wisdom *wisdom, bool create);

/* After a statement failed: memory takes the place of the file, with what can still be read of it,
 * and that is said once; where that copy fails, too, memory without it. So what failed is tried
 * RY_WISDOM_TRIES times. Memory that is out for a moment changes nothing. */
enum { RY_WISDOM_TRIES = 3 };
void ry_wisdom_give_up(ry_wisdom *wisdom, int result);

/* wisdom_rows.c */

enum { RY_WISDOM_COLUMNS = 17 }; /* columns of a record */

/* The first RY_WISDOM_COLUMNS parameters of a statement; texts must stay until it is reset. */
void ry_wisdom_bind(sqlite3_stmt *statement, const ry_wisdom_key *key,
                    const ry_wisdom_record *record);
/* The columns of a statement that stands at a row: texts live until it moves on. false: they are
 * not what a record may have. */
bool ry_wisdom_row_of(sqlite3_stmt *statement, ry_wisdom_row *row);
/* Runs a statement that gives no rows, and resets it. */
int ry_wisdom_run(ry_wisdom *wisdom, ry_wisdom_statement which);

#endif
