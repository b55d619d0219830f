/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up and putting. */
#include "wisdom/wisdom.h"

#include "base/clock.h"
#include "wisdom/wisdom_inside.h"

#include <string.h>

/* The cache of so many records of a machine takes some 400 MiB: what a file has beyond is not
 * looked at. */
enum { MAX_LOADED = 1 << 20 };

/* What has changed of a machine since it was looked at last. */
static int read_machine(ry_wisdom *w, ry_wisdom_machine *machine)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_LOAD];
    sqlite3_bind_text(s, 1, machine->text, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, machine->seen);
    int64_t seen = machine->seen;
    for (int count = 0; count < MAX_LOADED && sqlite3_step(s) == SQLITE_ROW; count++) {
        ry_wisdom_row row;
        const int64_t changed = sqlite3_column_int64(s, RY_WISDOM_COLUMNS);
        seen = changed > seen ? changed : seen;
        if (ry_wisdom_row_of(s, &row) && !ry_wisdom_cache_put(&w->cache, &row.key, &row.record)) {
            sqlite3_reset(s);
            return SQLITE_NOMEM;
        }
    }
    const int result = sqlite3_reset(s);
    machine->seen = result == SQLITE_OK ? seen : machine->seen;
    return result;
}

static int read_version(ry_wisdom *w, ry_wisdom_statement which, int column, int64_t *number)
{
    sqlite3_stmt *s = w->connection.statement[which];
    if (sqlite3_step(s) == SQLITE_ROW) {
        *number = sqlite3_column_int64(s, column);
    }
    return sqlite3_reset(s);
}

/* Reads of the file what others have written since. */
static int read_changes(ry_wisdom *w)
{
    int64_t version = w->version, clears = w->clears;
    int result = read_version(w, RY_WISDOM_DATA_VERSION, 0, &version);
    if (result != SQLITE_OK || version == w->version) {
        return result;
    }
    result = read_version(w, RY_WISDOM_STATE, 1, &clears);
    for (ry_wisdom_machine *m = w->cache.machines; result == SQLITE_OK && clears == w->clears && m;
         m = m->next) {
        result = read_machine(w, m);
    }
    if (result == SQLITE_OK) {
        if (clears != w->clears) {
            ry_wisdom_cache_free(&w->cache);
        }
        w->version = version;
        w->clears = clears;
    }
    return result;
}

/* Sees to it that the cache has a machine, and is as new as the file. */
static int refresh(ry_wisdom *w, const char *machine)
{
    int result = w->in_memory ? SQLITE_OK : read_changes(w);
    w->looked = ry_clock_seconds();
    if (result != SQLITE_OK || ry_wisdom_cache_machine(&w->cache, machine)) {
        return result;
    }
    ry_wisdom_machine *new = ry_wisdom_cache_add_machine(&w->cache, machine);
    return new ? read_machine(w, new) : SQLITE_NOMEM;
}

static void look(ry_wisdom *w, const char *machine)
{
    for (int tries = 0; tries < RY_WISDOM_TRIES && ry_wisdom_is_open(w, false); tries++) {
        const int result = refresh(w, machine);
        if (result == SQLITE_OK) {
            return;
        }
        ry_wisdom_give_up(w, result); /* once more, in memory */
    }
}

void ry_wisdom_load(ry_wisdom *wisdom, const char *machine)
{
    if (wisdom) {
        ry_wisdom_lock(wisdom);
        look(wisdom, machine);
        ry_wisdom_unlock(wisdom);
    }
}

static const ry_wisdom_entry *find(ry_wisdom *w, const ry_wisdom_key *key)
{
    const ry_wisdom_entry *entry = ry_wisdom_cache_find(&w->cache, key);
    if (entry && (w->in_memory || ry_clock_seconds() - w->looked < RY_WISDOM_REFRESH)) {
        return entry;
    }
    look(w, key->machine);
    return ry_wisdom_cache_find(&w->cache, key);
}

static bool copy_record(ry_arena *arena, const ry_wisdom_record *from, ry_wisdom_record *to)
{
    *to = *from;
    to->kernel = ry_arena_string(arena, from->kernel, strlen(from->kernel));
    to->form = ry_arena_string(arena, from->form, strlen(from->form));
    return to->kernel && to->form;
}

bool ry_wisdom_best(ry_wisdom *wisdom, const ry_wisdom_key *key,
                    bool (*known)(void *user, const ry_wisdom_record *record), void *user,
                    ry_arena *arena, ry_wisdom_record *record)
{
    if (!wisdom) {
        return false;
    }
    ry_wisdom_lock(wisdom);
    const ry_wisdom_entry *entry = find(wisdom, key);
    while (entry && !entry->record.rejected && !known(user, &entry->record)) {
        entry = entry->next;
    }
    const bool found =
        entry && !entry->record.rejected && copy_record(arena, &entry->record, record);
    ry_wisdom_unlock(wisdom);
    return found;
}

static int write_records(ry_wisdom *w, const ry_wisdom_key *key, const ry_wisdom_record *records,
                         size_t count)
{
    sqlite3_stmt *put = w->connection.statement[RY_WISDOM_PUT];
    int result = ry_wisdom_run(w, RY_WISDOM_BEGIN);
    if (result != SQLITE_OK) {
        return result;
    }
    result = ry_wisdom_run(w, RY_WISDOM_COUNT_CHANGE);
    for (size_t i = 0; result == SQLITE_OK && i < count; i++) {
        ry_wisdom_bind(put, key, &records[i]);
        result = ry_wisdom_run(w, RY_WISDOM_PUT);
    }
    result = result != SQLITE_OK ? result : ry_wisdom_run(w, RY_WISDOM_COMMIT);
    if (result != SQLITE_OK && !sqlite3_get_autocommit(w->connection.db)) {
        ry_wisdom_run(w, RY_WISDOM_ROLLBACK);
    }
    return result;
}

/* What was written is in the cache, too, or is read when its machine is asked for. */
static void remember(ry_wisdom *w, const ry_wisdom_key *key, const ry_wisdom_record *records,
                     size_t count)
{
    if (!ry_wisdom_cache_machine(&w->cache, key->machine)) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        if (!ry_wisdom_cache_put(&w->cache, key, &records[i])) {
            ry_wisdom_cache_free(&w->cache);
            return;
        }
    }
}

static rynd_status put(ry_wisdom *w, const ry_wisdom_key *key, const ry_wisdom_record *records,
                       size_t count, ry_error *error)
{
    int result = SQLITE_NOMEM;
    for (int tries = 0;
         tries < RY_WISDOM_TRIES && result != SQLITE_OK && ry_wisdom_is_open(w, true); tries++) {
        result = write_records(w, key, records, count);
        if (result != SQLITE_OK) {
            ry_wisdom_give_up(w, result);
        }
    }
    if (result != SQLITE_OK) {
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for %zu records of wisdom",
                       count);
    }
    remember(w, key, records, count);
    return RYND_OK;
}

rynd_status ry_wisdom_put(ry_wisdom *wisdom, const ry_wisdom_key *key,
                          const ry_wisdom_record *records, size_t count, ry_error *error)
{
    if (!wisdom || count == 0) {
        return RYND_OK;
    }
    if (wisdom->frozen) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the wisdom is frozen (RYND_FREEZE): nothing is written to it");
    }
    for (size_t i = 0; i < count; i++) {
        const char *what = ry_wisdom_complaint(key, &records[i]);
        if (what) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "a record of kernel '%.100s' cannot be kept: its %s is none that a "
                           "record may have",
                           records[i].kernel ? records[i].kernel : "", what);
        }
    }
    ry_wisdom_lock(wisdom);
    const rynd_status status = put(wisdom, key, records, count, error);
    ry_wisdom_unlock(wisdom);
    return status;
}
