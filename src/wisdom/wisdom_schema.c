/* SPDX-License-Identifier: Apache-2.0 */
/* The database: its tables, its statements, and connections to it.
 *
 * A row of `record` is a line of an export. `changed` numbers the writes to the file, so that a
 * process reads of another's only what is new; `clears` those that took rows away, after which all
 * is read anew. Processes wait for each other in the journal's mode WAL, where reading waits for
 * nobody, with transactions of one call. */
#include "wisdom/wisdom_inside.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* "RYND", of the file's header, and the version of the tables. */
enum { APPLICATION = 0x52594e44, VERSION = 2 };

/* A row, a statement and a text may have so many bytes: more is not from here. */
enum { MAX_LENGTH = 1 << 20 };

/* A connection waits in naps of a few milliseconds for others that write, which takes each of them
 * less than one: 5 s in all. Who waits longer waits for no wisdom's write. */
enum { NAPS = 1000 };

/* The file has these tables, by these texts, or it is not a wisdom: what else a file may hold
 * (triggers, views, computed columns) is nothing that we would run. */
#define RECORD_TABLE(last)                                                                        \
    "CREATE TABLE record(machine TEXT NOT NULL,problem TEXT NOT NULL,constants INTEGER NOT NULL," \
    "threads INTEGER NOT NULL,kernel TEXT NOT NULL,form TEXT NOT NULL,source INTEGER NOT NULL,"   \
    "rejected TEXT,samples INTEGER NOT NULL,mean REAL NOT NULL,variance REAL NOT NULL,"           \
    "median REAL NOT NULL,min REAL NOT NULL,max REAL NOT NULL,predicted REAL NOT NULL,"           \
    "time INTEGER NOT NULL," last "changed INTEGER NOT NULL,"                                     \
    "PRIMARY KEY(machine,problem,constants,threads,kernel,form,source)) WITHOUT ROWID"
static const char *const tables[] = {
    RECORD_TABLE("cold INTEGER NOT NULL,"),
    "CREATE INDEX record_changed ON record(machine,changed)",
    "CREATE TABLE lease(machine TEXT NOT NULL,problem TEXT NOT NULL,constants INTEGER NOT NULL,"
    "threads INTEGER NOT NULL,host TEXT NOT NULL,process INTEGER NOT NULL,born INTEGER NOT NULL,"
    "expires INTEGER NOT NULL,PRIMARY KEY(machine,problem,constants,threads)) WITHOUT ROWID",
    "CREATE TABLE state(only INTEGER PRIMARY KEY,changes INTEGER NOT NULL,clears INTEGER NOT NULL)",
};
enum { TABLES = sizeof tables / sizeof *tables };

/* Version 1 did not say where weights were: as tables[0] without that column. Its records are taken
 * for warm ones. */
static const char first_record[] = RECORD_TABLE("");

#define COLUMNS                                                                            \
    "machine,problem,constants,threads,kernel,form,source,rejected,samples,mean,variance," \
    "median,min,max,predicted,time,cold"
#define KEY    "machine=?1 AND problem=?2 AND constants=?3 AND threads=?4"
#define SORTED "machine,problem,constants,threads,kernel,form,source"

static const char *const statements[RY_WISDOM_STATEMENTS] = {
    [RY_WISDOM_DATA_VERSION] = "PRAGMA data_version",
    [RY_WISDOM_STATE] = "SELECT changes,clears FROM state",
    [RY_WISDOM_LOAD] = "SELECT " COLUMNS " FROM record WHERE " KEY,
    [RY_WISDOM_LOAD_NEW] = "SELECT " COLUMNS ",changed FROM record INDEXED BY record_changed "
                           "WHERE machine=?1 AND changed>?2",
    [RY_WISDOM_BEGIN] = "BEGIN IMMEDIATE",
    [RY_WISDOM_COMMIT] = "COMMIT",
    [RY_WISDOM_ROLLBACK] = "ROLLBACK",
    [RY_WISDOM_COUNT_CHANGE] = "UPDATE state SET changes=changes+1",
    [RY_WISDOM_COUNT_CLEAR] = "UPDATE state SET clears=clears+1",
    [RY_WISDOM_PUT] = "REPLACE INTO record VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,"
                      "?15,?16,?17,(SELECT changes FROM state))",
    [RY_WISDOM_FORGET] = "DELETE FROM record WHERE " KEY " AND kernel=?5 AND (?7=0 OR source=?7)",
    [RY_WISDOM_GET] =
        "SELECT " COLUMNS " FROM record WHERE " KEY " AND kernel=?5 AND form=?6 AND source=?7",
    [RY_WISDOM_VISIT] = "SELECT " COLUMNS " FROM record ORDER BY " SORTED,
    [RY_WISDOM_LEASE] = "SELECT host,process,born,expires FROM lease WHERE " KEY,
    [RY_WISDOM_LEND] = "REPLACE INTO lease VALUES(?1,?2,?3,?4,?5,?6,?7,?8)",
    [RY_WISDOM_RETURN] = "DELETE FROM lease WHERE " KEY " AND host=?5 AND process=?6 AND born=?7",
};

static int nap(void *user, int count)
{
    (void)user;
    /* not all that wait wake up together */
    const struct timespec time = {0, (1 + (count * 7 + (int)clock()) % 9) * 1000000L};
    nanosleep(&time, NULL);
    return count < NAPS;
}

/* Runs an SQL statement whose result is a number. */
static int number_of(sqlite3 *db, const char *text, int64_t *number)
{
    sqlite3_stmt *statement;
    *number = 0;
    int result = sqlite3_prepare_v2(db, text, -1, &statement, NULL);
    if (result != SQLITE_OK) {
        return result;
    }
    if (sqlite3_step(statement) == SQLITE_ROW) {
        *number = sqlite3_column_int64(statement, 0);
    }
    return sqlite3_finalize(statement);
}

static bool is_table(const char *text, int64_t version)
{
    for (int i = 0; i < TABLES; i++) {
        if (strcmp(i == 0 && version == 1 ? first_record : tables[i], text) == 0) {
            return true;
        }
    }
    return false;
}

/* How many of the tables there are; -1: something else is there, too. What SQLite makes for itself
 * has no text or a name of its own. */
static int count_tables(sqlite3 *db, int64_t version, int *count)
{
    sqlite3_stmt *statement;
    int result = sqlite3_prepare_v2(
        db, "SELECT sql FROM sqlite_master WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'", -1,
        &statement, NULL);
    if (result != SQLITE_OK) {
        return result;
    }
    *count = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        const char *text = (const char *)sqlite3_column_text(statement, 0);
        *count = *count < 0 || !text || !is_table(text, version) ? -1 : *count + 1;
    }
    return sqlite3_finalize(statement);
}

static int fail(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s", what);
    return SQLITE_NOTADB;
}

static int execute(sqlite3 *db, const char *text)
{
    return sqlite3_exec(db, text, NULL, NULL, NULL);
}

/* What a file is: nothing is written before that is known. */
typedef enum content { EMPTY, OLD, CURRENT } content;

static int check_tables(sqlite3 *db, content *is, char *why, size_t size)
{
    int64_t application, version;
    int count;
    int result = number_of(db, "PRAGMA application_id", &application);
    result = result != SQLITE_OK ? result : number_of(db, "PRAGMA user_version", &version);
    result = result != SQLITE_OK ? result : count_tables(db, version, &count);
    if (result != SQLITE_OK) {
        return result;
    }
    *is = application == 0 && version == 0 && count == 0 ? EMPTY : version == 1 ? OLD : CURRENT;
    if (*is == EMPTY) {
        return SQLITE_OK;
    }
    return application != APPLICATION ? fail(why, size, "it is another program's database")
           : version > VERSION        ? fail(why, size, "it was written by a later version of rynd")
           : version < 1 || count != TABLES
               ? fail(why, size, "its tables are not those of a wisdom")
               : SQLITE_OK;
}

/* Checks in one transaction: another process may be creating the tables. */
static int check_file(sqlite3 *db, content *is, char *why, size_t size)
{
    int result = execute(db, "BEGIN");
    if (result == SQLITE_OK) {
        result = check_tables(db, is, why, size);
        execute(db, "ROLLBACK");
    }
    return result;
}

static int make_new(sqlite3 *db)
{
    int result = SQLITE_OK;
    for (int i = 0; result == SQLITE_OK && i < TABLES; i++) {
        result = execute(db, tables[i]);
    }
    return result != SQLITE_OK ? result : execute(db, "INSERT INTO state VALUES(1,0,0)");
}

/* The table of records anew, with the column that it lacks. */
static int make_current(sqlite3 *db)
{
    int result = execute(db, "ALTER TABLE record RENAME TO first;DROP INDEX record_changed");
    result = result != SQLITE_OK ? result : execute(db, tables[0]);
    return result != SQLITE_OK
               ? result
               : execute(db, "CREATE INDEX record_changed ON record(machine,changed);"
                             "INSERT INTO record SELECT machine,problem,constants,threads,kernel,"
                             "form,source,rejected,samples,mean,variance,median,min,max,predicted,"
                             "time,0,changed FROM first;DROP TABLE first;"
                             "UPDATE state SET clears=clears+1");
}

/* In one transaction; another process may have made them meanwhile. */
static int make_tables(sqlite3 *db, char *why, size_t size)
{
    char header[96];
    content is = CURRENT;
    snprintf(header, sizeof header, "PRAGMA application_id=%d;PRAGMA user_version=%d", APPLICATION,
             VERSION);
    int result = execute(db, "BEGIN IMMEDIATE");
    if (result != SQLITE_OK) {
        return result;
    }
    result = check_tables(db, &is, why, size);
    if (is != CURRENT && result == SQLITE_OK) {
        result = is == EMPTY ? make_new(db) : make_current(db);
    }
    if (is != CURRENT && result == SQLITE_OK) {
        result = execute(db, header);
    }
    if (result == SQLITE_OK) {
        result = execute(db, "COMMIT");
    }
    if (result != SQLITE_OK) {
        execute(db, "ROLLBACK");
    }
    return result;
}

/* SQLite does not wait by itself where two processes change the mode at once. */
static int set_journal(sqlite3 *db, char *why, size_t size)
{
    int result = SQLITE_BUSY;
    bool wal = false;
    for (int count = 0; result == SQLITE_BUSY; count++) {
        sqlite3_stmt *statement;
        result = sqlite3_prepare_v2(db, "PRAGMA journal_mode=WAL", -1, &statement, NULL);
        if (result != SQLITE_OK) {
            return result;
        }
        if (sqlite3_step(statement) == SQLITE_ROW) {
            const char *mode = (const char *)sqlite3_column_text(statement, 0);
            wal = mode && strcmp(mode, "wal") == 0;
        }
        result = sqlite3_finalize(statement);
        if (result == SQLITE_BUSY && !nap(NULL, count)) {
            return result;
        }
    }
    return result != SQLITE_OK || wal
               ? result
               : fail(why, size, "its file system has no memory that processes share");
}

/* Protects against hostile files: no code in the schema runs, pages are checked, and limits bound
 * SQLite's memory. */
static int restrict_connection(sqlite3 *db)
{
    sqlite3_limit(db, SQLITE_LIMIT_LENGTH, MAX_LENGTH);
    sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    sqlite3_busy_handler(db, nap, NULL);
    /* a write is not lost when a process ends, but may be when the power fails */
    return execute(db, "PRAGMA cell_size_check=ON;PRAGMA mmap_size=0;PRAGMA temp_store=MEMORY;"
                       "PRAGMA synchronous=NORMAL;PRAGMA foreign_keys=OFF");
}

static int prepare_statements(ry_wisdom_connection *connection)
{
    int result = SQLITE_OK;
    for (int i = 0; result == SQLITE_OK && i < RY_WISDOM_STATEMENTS; i++) {
        result = sqlite3_prepare_v3(connection->db, statements[i], -1, SQLITE_PREPARE_PERSISTENT,
                                    &connection->statement[i], NULL);
    }
    return result;
}

void ry_wisdom_disconnect(ry_wisdom_connection *connection)
{
    for (int i = 0; i < RY_WISDOM_STATEMENTS; i++) {
        sqlite3_finalize(connection->statement[i]);
    }
    sqlite3_close(connection->db);
    *connection = (ry_wisdom_connection){0};
}

/* Disconnects on failure; writes SQLite's message to `why` unless a better one is there. */
static int settle(int result, ry_wisdom_connection *connection, char *why, size_t size)
{
    if (result != SQLITE_OK) {
        if (!why[0]) {
            snprintf(why, size, "%s", sqlite3_errstr(result));
        }
        ry_wisdom_disconnect(connection);
    }
    return result;
}

static int open_file(const char *path, int flags, sqlite3 **db)
{
    int result = sqlite3_open_v2(path, db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    return result != SQLITE_OK ? result : restrict_connection(*db);
}

int ry_wisdom_connect(const char *path, ry_wisdom_connection *connection, char *why, size_t size)
{
    *connection = (ry_wisdom_connection){0};
    why[0] = 0;
    content is = CURRENT;
    int result = open_file(path ? path : ":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE,
                           &connection->db);
    if (result == SQLITE_OK && sqlite3_db_readonly(connection->db, "main") == 1) {
        result = SQLITE_READONLY;
    }
    result = result != SQLITE_OK ? result : check_file(connection->db, &is, why, size);
    if (result == SQLITE_OK && path) {
        result = set_journal(connection->db, why, size);
    }
    if (result == SQLITE_OK && is != CURRENT) {
        result = make_tables(connection->db, why, size);
    }
    result = result != SQLITE_OK ? result : prepare_statements(connection);
    return settle(result, connection, why, size);
}

int ry_wisdom_copy(sqlite3 *from, ry_wisdom_connection *connection, char *why, size_t size)
{
    *connection = (ry_wisdom_connection){0};
    why[0] = 0;
    content is = CURRENT;
    int result = open_file(":memory:", SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, &connection->db);
    if (result == SQLITE_OK) {
        sqlite3_backup *backup = sqlite3_backup_init(connection->db, "main", from, "main");
        for (int count = 0; backup && sqlite3_backup_step(backup, -1) == SQLITE_BUSY;) {
            if (!nap(NULL, count++)) {
                break;
            }
        }
        result = backup ? sqlite3_backup_finish(backup) : sqlite3_errcode(connection->db);
    }
    result = result != SQLITE_OK ? result : check_file(connection->db, &is, why, size);
    if (result == SQLITE_OK && is != CURRENT) {
        result = make_tables(connection->db, why, size);
    }
    result = result != SQLITE_OK ? result : prepare_statements(connection);
    return settle(result, connection, why, size);
}

/* "file:/a/b%3f?immutable=1" */
static const char *immutable_address(const char *path, char *to, size_t size)
{
    size_t used = (size_t)snprintf(to, size, "file:");
    for (; *path && used + sizeof "%00?immutable=1" < size; path++) {
        const bool plain = strchr("?#%", *path) == NULL;
        used +=
            (size_t)snprintf(to + used, size - used, plain ? "%c" : "%%%02x", (unsigned char)*path);
    }
    snprintf(to + used, size - used, "?immutable=1");
    return to;
}

/* Where the folder cannot be written the journal's mode WAL needs a file that is taken as
 * immutable: one that was closed is whole without its journal. */
int ry_wisdom_copy_file(const char *path, ry_wisdom_connection *connection, char *why, size_t size)
{
    sqlite3 *from = NULL;
    int64_t ignored;
    int result = open_file(path, SQLITE_OPEN_READONLY, &from);
    result = result != SQLITE_OK ? result : number_of(from, "PRAGMA schema_version", &ignored);
    if (result == SQLITE_CANTOPEN || result == SQLITE_READONLY) {
        char address[3 * RY_WISDOM_PATH + 32];
        sqlite3_close(from);
        from = NULL;
        result = open_file(immutable_address(path, address, sizeof address),
                           SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, &from);
    }
    if (result != SQLITE_OK) {
        *connection = (ry_wisdom_connection){0};
        snprintf(why, size, "%s", sqlite3_errstr(result));
    } else {
        result = ry_wisdom_copy(from, connection, why, size);
    }
    sqlite3_close(from);
    return result;
}
