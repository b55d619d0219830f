/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and records as rows of the database, and what either may hold. */
#include "wisdom/wisdom_inside.h"

#include <math.h>
#include <string.h>

/* Machines have so many threads at most, as contexts do. */
enum { MAX_THREADS = 1024 };

/* Printable ASCII, not empty unless that is allowed. */
static bool is_text(const char *text, size_t room, bool empty)
{
    size_t i = 0;
    for (; text && i < room && text[i]; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return text && i < room && (i > 0 || empty);
}

static bool is_time(double seconds)
{
    return isfinite(seconds) && seconds > 0;
}

/* Rejected before anything was measured: zeros. */
static bool has_no_times(const ry_wisdom_record *r)
{
    return r->samples == 0 && r->mean == 0 && r->variance == 0 && r->median == 0 && r->min == 0 &&
           r->max == 0;
}

const char *ry_wisdom_complaint(const ry_wisdom_key *key, const ry_wisdom_record *r)
{
    const bool measured = !(r->rejected && has_no_times(r));
    return !is_text(key->machine, RY_WISDOM_FINGERPRINT, false)              ? "machine"
           : !is_text(key->problem, RY_WISDOM_PROBLEM, false)                ? "problem"
           : key->threads < 1 || key->threads > MAX_THREADS                  ? "threads"
           : !is_text(r->kernel, RY_WISDOM_KERNEL, false)                    ? "kernel"
           : !is_text(r->form, RY_WISDOM_FORM, true)                         ? "form"
           : r->rejected && !is_text(r->rejected, RY_WISDOM_REJECTED, false) ? "rejected"
           : measured && r->samples < 1                                      ? "samples"
           : measured && !is_time(r->mean)                                   ? "mean"
           : measured && !(isfinite(r->variance) && r->variance >= 0)        ? "variance"
           : measured && !is_time(r->median)                                 ? "median"
           : measured && !(is_time(r->min) && r->min <= r->median)           ? "min"
           : measured && !(is_time(r->max) && r->max >= r->median)           ? "max"
           : !(isfinite(r->predicted) && r->predicted >= 0)                  ? "predicted"
           : r->time < 0                                                     ? "time"
           : r->cold > 1                                                     ? "cold"
                                                                             : NULL;
}

bool ry_wisdom_prefers(const ry_wisdom_record *a, const ry_wisdom_record *b)
{
    return !a->rejected != !b->rejected ? a->rejected != NULL
           : a->samples != b->samples   ? a->samples > b->samples
           : a->variance != b->variance ? a->variance < b->variance
           : a->time != b->time         ? a->time > b->time
                                        : a->median < b->median;
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    if (text) {
        sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
    } else {
        sqlite3_bind_null(statement, index);
    }
}

void ry_wisdom_bind(sqlite3_stmt *s, const ry_wisdom_key *key, const ry_wisdom_record *record)
{
    bind_text(s, 1, key->machine);
    bind_text(s, 2, key->problem);
    sqlite3_bind_int64(s, 3, key->constants);
    sqlite3_bind_int64(s, 4, key->threads);
    if (!record) {
        return;
    }
    bind_text(s, 5, record->kernel);
    bind_text(s, 6, record->form);
    sqlite3_bind_int64(s, 7, (int64_t)record->source);
    if (sqlite3_bind_parameter_count(s) < RY_WISDOM_COLUMNS) {
        return;
    }
    const double numbers[] = {record->mean, record->variance, record->median,
                              record->min,  record->max,      record->predicted};
    bind_text(s, 8, record->rejected);
    sqlite3_bind_int64(s, 9, record->samples);
    for (int i = 0; i < 6; i++) {
        sqlite3_bind_double(s, 10 + i, numbers[i]);
    }
    sqlite3_bind_int64(s, 16, record->time);
    sqlite3_bind_int64(s, 17, record->cold);
}

/* The text of a column; NULL if it is not text or contains a byte 0. */
static const char *text_of(sqlite3_stmt *s, int column)
{
    if (sqlite3_column_type(s, column) != SQLITE_TEXT) {
        return NULL;
    }
    const char *text = (const char *)sqlite3_column_text(s, column);
    return text && strlen(text) == (size_t)sqlite3_column_bytes(s, column) ? text : NULL;
}

static bool integer_of(sqlite3_stmt *s, int column, int64_t *value)
{
    *value = sqlite3_column_int64(s, column);
    return sqlite3_column_type(s, column) == SQLITE_INTEGER;
}

bool ry_wisdom_row_of(sqlite3_stmt *s, ry_wisdom_row *row)
{
    int64_t constants, threads, source, samples, time, cold;
    const bool whole = integer_of(s, 2, &constants) && integer_of(s, 3, &threads) &&
                       integer_of(s, 6, &source) && integer_of(s, 8, &samples) &&
                       integer_of(s, 15, &time) && integer_of(s, 16, &cold);
    if (!whole || constants < 0 || constants > UINT32_MAX || threads < 0 || threads > UINT32_MAX ||
        cold < 0 || cold > 1) {
        return false;
    }
    for (int column = 9; column < 15; column++) {
        if (sqlite3_column_type(s, column) != SQLITE_FLOAT) {
            return false;
        }
    }
    const bool taken = sqlite3_column_type(s, 7) == SQLITE_NULL;
    row->key =
        (ry_wisdom_key){text_of(s, 1), (unsigned)constants, (unsigned)threads, text_of(s, 0)};
    row->record = (ry_wisdom_record){
        .kernel = text_of(s, 4),
        .form = text_of(s, 5),
        .source = (uint64_t)source,
        .rejected = taken ? NULL : text_of(s, 7),
        .samples = samples,
        .mean = sqlite3_column_double(s, 9),
        .variance = sqlite3_column_double(s, 10),
        .median = sqlite3_column_double(s, 11),
        .min = sqlite3_column_double(s, 12),
        .max = sqlite3_column_double(s, 13),
        .predicted = sqlite3_column_double(s, 14),
        .time = time,
        .cold = (unsigned)cold,
    };
    return (taken || row->record.rejected) && !ry_wisdom_complaint(&row->key, &row->record);
}

int ry_wisdom_run(ry_wisdom *wisdom, ry_wisdom_statement which)
{
    sqlite3_stmt *statement = wisdom->connection.statement[which];
    sqlite3_step(statement);
    return sqlite3_reset(statement);
}
