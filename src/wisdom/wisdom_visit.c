/* SPDX-License-Identifier: Apache-2.0 */
/* All records: those of a filter, forgetting them, taking others'. */
#include "wisdom/wisdom_inside.h"

#include <fnmatch.h>
#include <string.h>
#include <unistd.h>

static bool matches(const char *pattern, const char *text)
{
    return !pattern || !*pattern ||
           (pattern[strcspn(pattern, "*?[")] ? fnmatch(pattern, text, 0) == 0
                                             : strstr(text, pattern) != NULL);
}

static bool is_wanted(const ry_wisdom_filter *filter, const char *machine, const char *kernel,
                      const char *problem)
{
    return !filter || (matches(filter->machine, machine) && matches(filter->kernel, kernel) &&
                       matches(filter->problem, problem));
}

static int visit_rows(ry_wisdom *w, const ry_wisdom_filter *filter, ry_wisdom_visitor visit,
                      void *user, rynd_status *status, ry_error *error)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_VISIT];
    bool any = false;
    while (*status == RYND_OK && sqlite3_step(s) == SQLITE_ROW) {
        ry_wisdom_row row;
        any = true;
        if (ry_wisdom_row_of(s, &row) &&
            is_wanted(filter, row.key.machine, row.record.kernel, row.key.problem)) {
            *status = visit(user, &row.key, &row.record, error);
        }
    }
    if (!any && w->failed) {
        *status = ry_fail(error, RYND_ERROR_IO, "%s: cannot read the wisdom: %s", w->path, w->why);
    }
    return sqlite3_reset(s);
}

rynd_status ry_wisdom_visit(ry_wisdom *wisdom, const ry_wisdom_filter *filter,
                            ry_wisdom_visitor visit, void *user, ry_error *error)
{
    rynd_status status = RYND_OK;
    if (!wisdom) {
        return status;
    }
    ry_wisdom_lock(wisdom);
    if (ry_wisdom_is_open(wisdom, false)) {
        const int result = visit_rows(wisdom, filter, visit, user, &status, error);
        if (result != SQLITE_OK && status == RYND_OK) {
            status = ry_fail(error, RYND_ERROR_IO, "%s: cannot read the wisdom: %s", wisdom->path,
                             sqlite3_errstr(result));
        }
    } else if (wisdom->in_memory || access(wisdom->path, F_OK) == 0) {
        status = ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for the wisdom");
    }
    ry_wisdom_unlock(wisdom);
    return status;
}

/* Bulk writes need the file; the in-memory fallback would lose them. */
static rynd_status begin(ry_wisdom *w, ry_error *error)
{
    if (w->frozen) {
        return ry_fail(error, RYND_ERROR_ARGUMENT,
                       "the wisdom is frozen (RYND_FREEZE): nothing is written to it");
    }
    if (!ry_wisdom_is_open(w, true)) {
        return ry_fail(error, RYND_ERROR_OUT_OF_MEMORY, "out of memory for the wisdom");
    }
    if (w->failed) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot write the wisdom: %s", w->path, w->why);
    }
    const int result = ry_wisdom_run(w, RY_WISDOM_BEGIN);
    return result == SQLITE_OK ? RYND_OK
                               : ry_fail(error, RYND_ERROR_IO, "%s: cannot write the wisdom: %s",
                                         w->path, sqlite3_errstr(result));
}

static rynd_status end(ry_wisdom *w, int result, ry_error *error)
{
    result = result != SQLITE_OK ? result : ry_wisdom_run(w, RY_WISDOM_COMMIT);
    if (result == SQLITE_OK) {
        ry_wisdom_cache_free(&w->cache);
        return RYND_OK;
    }
    if (!sqlite3_get_autocommit(w->connection.db)) {
        ry_wisdom_run(w, RY_WISDOM_ROLLBACK);
    }
    return ry_fail(error, result == SQLITE_NOMEM ? RYND_ERROR_OUT_OF_MEMORY : RYND_ERROR_IO,
                   "%s: cannot write the wisdom: %s; it is as it was", w->path,
                   sqlite3_errstr(result));
}

static void wanted(sqlite3_context *context, int count, sqlite3_value **values)
{
    const char *text[3] = {"", "", ""};
    for (int i = 0; i < 3 && i < count; i++) {
        const char *given = (const char *)sqlite3_value_text(values[i]);
        text[i] = given ? given : "";
    }
    sqlite3_result_int(context, is_wanted(sqlite3_user_data(context), text[0], text[1], text[2]));
}

static int clear_rows(ry_wisdom *w, const ry_wisdom_filter *filter, size_t *cleared)
{
    sqlite3 *db = w->connection.db;
    int result = ry_wisdom_run(w, RY_WISDOM_COUNT_CLEAR);
    if (result == SQLITE_OK) {
        result = sqlite3_create_function(db, "wanted", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY,
                                         (void *)(uintptr_t)filter, wanted, NULL, NULL);
    }
    if (result == SQLITE_OK) {
        result = sqlite3_exec(db, "DELETE FROM record WHERE wanted(machine,kernel,problem)", NULL,
                              NULL, NULL);
        *cleared = result == SQLITE_OK ? (size_t)sqlite3_changes(db) : 0;
    }
    return result;
}

rynd_status ry_wisdom_clear(ry_wisdom *wisdom, const ry_wisdom_filter *filter, size_t *cleared,
                            ry_error *error)
{
    *cleared = 0;
    if (!wisdom) {
        return RYND_OK;
    }
    ry_wisdom_lock(wisdom);
    rynd_status status = begin(wisdom, error);
    if (status == RYND_OK) {
        status = end(wisdom, clear_rows(wisdom, filter, cleared), error);
    }
    ry_wisdom_unlock(wisdom);
    *cleared = status == RYND_OK ? *cleared : 0;
    return status;
}

/* Is there a record already that the row is not preferred to? */
static int find_better(ry_wisdom *w, const ry_wisdom_row *row, bool *better)
{
    sqlite3_stmt *s = w->connection.statement[RY_WISDOM_GET];
    ry_wisdom_row there;
    ry_wisdom_bind(s, &row->key, &row->record);
    *better = sqlite3_step(s) == SQLITE_ROW && ry_wisdom_row_of(s, &there) &&
              !ry_wisdom_prefers(&row->record, &there.record);
    return sqlite3_reset(s);
}

static int merge_rows(ry_wisdom *w, const ry_wisdom_row *rows, size_t count, size_t *taken)
{
    int result = ry_wisdom_run(w, RY_WISDOM_COUNT_CHANGE);
    for (size_t i = 0; result == SQLITE_OK && i < count; i++) {
        bool better;
        result = find_better(w, &rows[i], &better);
        if (result == SQLITE_OK && !better) {
            ry_wisdom_bind(w->connection.statement[RY_WISDOM_PUT], &rows[i].key, &rows[i].record);
            result = ry_wisdom_run(w, RY_WISDOM_PUT);
            *taken += result == SQLITE_OK;
        }
    }
    return result;
}

rynd_status ry_wisdom_merge(ry_wisdom *wisdom, const ry_wisdom_row *rows, size_t count,
                            size_t *taken, ry_error *error)
{
    *taken = 0;
    for (size_t i = 0; i < count; i++) {
        const char *what = ry_wisdom_complaint(&rows[i].key, &rows[i].record);
        if (what) {
            return ry_fail(error, RYND_ERROR_ARGUMENT,
                           "record %zu has a %s that no record may have", i, what);
        }
    }
    if (!wisdom || count == 0) {
        return RYND_OK;
    }
    ry_wisdom_lock(wisdom);
    rynd_status status = begin(wisdom, error);
    if (status == RYND_OK) {
        status = end(wisdom, merge_rows(wisdom, rows, count, taken), error);
    }
    ry_wisdom_unlock(wisdom);
    *taken = status == RYND_OK ? *taken : 0;
    return status;
}
