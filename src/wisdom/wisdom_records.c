/* SPDX-License-Identifier: Apache-2.0 */
/* Looking up and putting. */
#include "wisdom/wisdom.h"

#include "base/clock.h"
#include "wisdom/wisdom_inside.h"

#include <string.h>

/* So many records of a key are looked at: it has a form each of some kernels. */
enum { MAX_LOADED = 1 << 16 };

/* And so many keys are remembered: with shapes that never end it begins anew. */
enum { MAX_KEYS = 1 << 16 };

static int read_version(ry_wisdom *w, ry_wisdom_statement which, int column, int64_t *number)
{
    sqlite3_stmt *s = w->connection.statement[which];
    if (sqlite3_step(s) == SQLITE_ROW) {
        *number = sqlite3_column_int64(s, column);
    }
    return sqlite3_reset(s);
}

/* What has changed of a machine since it was looked at last, of keys that were asked for. */
static int read_machine(ry_wisdom *w, ry_wisdom_machine *machine)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_LOAD_NEW];
    sqlite3_bind_text(s, 1, machine->text, -1, SQLITE_STATIC);
    sqlite3_bind_int64(s, 2, machine->seen);
    int64_t seen = machine->seen;
    while (sqlite3_step(s) == SQLITE_ROW) {
        ry_wisdom_row row;
        const int64_t changed = sqlite3_column_int64(s, RY_WISDOM_COLUMNS);
        seen = changed > seen ? changed : seen;
        if (!ry_wisdom_row_of(s, &row)) {
            continue;
        }
        ry_wisdom_group *group = ry_wisdom_cache_find(&w->cache, &row.key);
        if (group && !ry_wisdom_cache_put(&w->cache, group, &row.record)) {
            sqlite3_reset(s);
            return SQLITE_NOMEM;
        }
    }
    const int result = sqlite3_reset(s);
    machine->seen = result == SQLITE_OK ? seen : machine->seen;
    return result;
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

/* What changes from now on is new. */
static int add_machine(ry_wisdom *w, const char *text)
{
    int64_t changes = 0;
    const int result = read_version(w, RY_WISDOM_STATE, 0, &changes);
    if (result != SQLITE_OK) {
        return result;
    }
    ry_wisdom_machine *machine = ry_wisdom_cache_add_machine(&w->cache, text);
    if (!machine) {
        return SQLITE_NOMEM;
    }
    machine->seen = changes;
    return SQLITE_OK;
}

static int read_key(ry_wisdom *w, const ry_wisdom_key *key)
{
    if (w->cache.group_count == MAX_KEYS) {
        ry_wisdom_cache_free(&w->cache);
    }
    int result =
        ry_wisdom_cache_machine(&w->cache, key->machine) ? SQLITE_OK : add_machine(w, key->machine);
    ry_wisdom_group *group = result == SQLITE_OK ? ry_wisdom_cache_add(&w->cache, key) : NULL;
    if (!group) {
        return result == SQLITE_OK ? SQLITE_NOMEM : result;
    }
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_LOAD];
    ry_wisdom_bind(s, key, NULL);
    bool whole = true;
    for (int i = 0; i < MAX_LOADED && whole && sqlite3_step(s) == SQLITE_ROW; i++) {
        ry_wisdom_row row;
        whole = !ry_wisdom_row_of(s, &row) || ry_wisdom_cache_put(&w->cache, group, &row.record);
    }
    result = sqlite3_reset(s);
    result = whole ? result : SQLITE_NOMEM;
    if (result != SQLITE_OK) {
        ry_wisdom_cache_free(&w->cache); /* a group is whole, or not there */
    }
    return result;
}

/* Sees to it that the cache has a key, and is as new as the file. */
static int refresh(ry_wisdom *w, const ry_wisdom_key *key)
{
    const int result = w->in_memory ? SQLITE_OK : read_changes(w);
    w->looked = ry_clock_seconds();
    return result != SQLITE_OK || ry_wisdom_cache_find(&w->cache, key) ? result : read_key(w, key);
}

static void look(ry_wisdom *w, const ry_wisdom_key *key)
{
    for (int tries = 0; tries < RY_WISDOM_TRIES && ry_wisdom_is_open(w, false); tries++) {
        const int result = refresh(w, key);
        if (result == SQLITE_OK) {
            return;
        }
        ry_wisdom_give_up(w, result); /* once more, in memory */
    }
}

static const ry_wisdom_entry *find(ry_wisdom *w, const ry_wisdom_key *key)
{
    const ry_wisdom_group *group = ry_wisdom_cache_find(&w->cache, key);
    const bool fresh =
        group &&
        (w->in_memory || (group->first && ry_clock_seconds() - w->looked < RY_WISDOM_REFRESH));
    if (!fresh) {
        look(w, key);
        group = ry_wisdom_cache_find(&w->cache, key);
    }
    return group ? group->first : NULL;
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

/* One transaction: kernels to forget and records to store under a key. */
typedef struct change {
    const ry_wisdom_key *key;
    const ry_wisdom_kernel *kernels;
    size_t kernel_count;
    const ry_wisdom_record *records;
    size_t count;
} change;

/* Others read everything anew after it. */
static int forget_kernels(ry_wisdom *w, const change *c)
{
    int result = c->kernel_count ? ry_wisdom_run(w, RY_WISDOM_COUNT_CLEAR) : SQLITE_OK;
    for (size_t i = 0; result == SQLITE_OK && i < c->kernel_count; i++) {
        const ry_wisdom_record of = {
            .kernel = c->kernels[i].kernel, .form = "", .source = c->kernels[i].source};
        ry_wisdom_bind(w->connection.statement[RY_WISDOM_FORGET], c->key, &of);
        result = ry_wisdom_run(w, RY_WISDOM_FORGET);
    }
    return result;
}

static int write_records(ry_wisdom *w, const change *c)
{
    sqlite3_stmt *put = w->connection.statement[RY_WISDOM_PUT];
    int result = ry_wisdom_run(w, RY_WISDOM_BEGIN);
    if (result != SQLITE_OK) {
        return result;
    }
    result = ry_wisdom_run(w, RY_WISDOM_COUNT_CHANGE);
    result = result != SQLITE_OK ? result : forget_kernels(w, c);
    for (size_t i = 0; result == SQLITE_OK && i < c->count; i++) {
        ry_wisdom_bind(put, c->key, &c->records[i]);
        result = ry_wisdom_run(w, RY_WISDOM_PUT);
    }
    result = result != SQLITE_OK ? result : ry_wisdom_run(w, RY_WISDOM_COMMIT);
    if (result != SQLITE_OK && !sqlite3_get_autocommit(w->connection.db)) {
        ry_wisdom_run(w, RY_WISDOM_ROLLBACK);
    }
    return result;
}

/* What was written is in the cache, too, or is read when its key is asked for. */
static void remember(ry_wisdom *w, const change *c)
{
    if (c->kernel_count) {
        ry_wisdom_cache_free(&w->cache);
    }
    ry_wisdom_group *group = ry_wisdom_cache_find(&w->cache, c->key);
    for (size_t i = 0; group && i < c->count; i++) {
        if (!ry_wisdom_cache_put(&w->cache, group, &c->records[i])) {
            ry_wisdom_cache_free(&w->cache);
            return;
        }
    }
}

static rynd_status put(ry_wisdom *w, const change *c, ry_error *error)
{
    int result = SQLITE_NOMEM;
    for (int tries = 0;
         tries < RY_WISDOM_TRIES && result != SQLITE_OK && ry_wisdom_is_open(w, true); tries++) {
        result = write_records(w, c);
        if (result != SQLITE_OK) {
            ry_wisdom_give_up(w, result);
        }
    }
    if (result != SQLITE_OK) {
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for %zu records of wisdom",
                       c->count);
    }
    remember(w, c);
    return RYND_OK;
}

rynd_status ry_wisdom_put(ry_wisdom *wisdom, const ry_wisdom_key *key,
                          const ry_wisdom_record *records, size_t count, ry_error *error)
{
    return ry_wisdom_replace(wisdom, key, NULL, 0, records, count, error);
}

rynd_status ry_wisdom_replace(ry_wisdom *wisdom, const ry_wisdom_key *key,
                              const ry_wisdom_kernel *kernels, size_t kernel_count,
                              const ry_wisdom_record *records, size_t count, ry_error *error)
{
    const change c = {key, kernels, kernel_count, records, count};
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
    const rynd_status status = put(wisdom, &c, error);
    ry_wisdom_unlock(wisdom);
    return status;
}
