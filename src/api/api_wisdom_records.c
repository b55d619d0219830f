/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom for the caller: shown, exported, taken in, forgotten. */
#include "api/api_wisdom_records.h"

#include "api/api_check.h"
#include "api/api_status.h"
#include "api/api_tune_plans.h"
#include "api/api_wisdom.h"
#include "kernels/kernel_source.h"
#include "wisdom/wisdom_lines.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

rynd_status ry_api_wisdom_filter(const rynd_wisdom_filter *given, ry_wisdom_filter *filter,
                                 ry_error *error)
{
    rynd_wisdom_filter all;
    RY_TRY(ry_api_options(&all, sizeof all, given, "rynd_wisdom_filter", error));
    *filter = (ry_wisdom_filter){all.machine, all.kernel, all.problem};
    return RYND_OK;
}

static rynd_status require_wisdom(const rynd_context *context, ry_error *error)
{
    return context->wisdom ? RYND_OK
                           : ry_fail(error, RYND_ERROR_ARGUMENT,
                                     "there is no wisdom: RYND_WISDOM or the context's option is "
                                     "off, or HOME is not set; name a file");
}

static bool is_here(const rynd_context *context, const char *machine)
{
    return strcmp(machine, context->fingerprint) == 0 ||
           strcmp(machine, context->host_fingerprint) == 0;
}

/* Is the record's kernel the current one? Records of plans are checked when the network is planned.
 */
static bool is_current(const ry_wisdom_record *record)
{
    ry_plan_form form;
    if (strcmp(record->kernel, RY_PLAN_KERNEL) == 0) {
        return ry_plan_form_parse(record->form, &form);
    }
    const ry_kernel *kernel = ry_kernel_find(record->kernel);
    return kernel && ry_kernel_source(kernel) == record->source;
}

void ry_api_wisdom_record(const rynd_context *context, const ry_wisdom_key *key,
                          const ry_wisdom_record *record, rynd_wisdom_record *shown)
{
    *shown =
        RYND_SIZED(rynd_wisdom_record, .machine = key->machine, .problem = key->problem,
                   .constants = key->constants, .threads = key->threads, .kernel = record->kernel,
                   .form = record->form, .source = record->source, .rejected = record->rejected,
                   .samples = record->samples, .mean = record->mean, .variance = record->variance,
                   .median = record->median, .min = record->min, .max = record->max,
                   .predicted = record->predicted, .time = record->time,
                   .here = is_here(context, key->machine), .current = is_current(record),
                   .cold = (int)record->cold);
}

typedef struct showing {
    const rynd_context *context;
    rynd_wisdom_record_function visit;
    void *user;
} showing;

static rynd_status show_one(void *user, const ry_wisdom_key *key, const ry_wisdom_record *record,
                            ry_error *error)
{
    const showing *s = user;
    rynd_wisdom_record shown;
    ry_api_wisdom_record(s->context, key, record, &shown);
    return s->visit(s->user, &shown) == 0
               ? RYND_OK
               : ry_fail(error, RYND_ERROR_CANCELLED, "rynd_wisdom_show: ended by its visitor");
}

rynd_status rynd_wisdom_show(rynd_context *context, const rynd_wisdom_filter *given,
                             rynd_wisdom_record_function visit, void *user)
{
    RY_API_REQUIRE(context);
    ry_error error = {""};
    ry_wisdom_filter filter;
    showing s = {context, visit, user};
    if (!visit) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT, "rynd_wisdom_show: visit is NULL"),
                          &error);
    }
    rynd_status status = ry_api_wisdom_filter(given, &filter, &error);
    status = status != RYND_OK ? status
                               : ry_wisdom_visit(context->wisdom, &filter, show_one, &s, &error);
    return ry_api_end(status, &error);
}

rynd_status rynd_wisdom_format(const rynd_wisdom_record *record, char *to, size_t size,
                               size_t *length)
{
    RY_API_REQUIRE(record, length);
    ry_error error = {""};
    rynd_wisdom_record r;
    const rynd_status status = ry_api_options(&r, sizeof r, record, "rynd_wisdom_record", &error);
    if (status != RYND_OK) {
        return ry_api_end(status, &error);
    }
    const ry_wisdom_key key = {r.problem, r.constants, r.threads, r.machine};
    const ry_wisdom_record own = {r.kernel,    r.form,     r.source,        r.rejected, r.samples,
                                  r.mean,      r.variance, r.median,        r.min,      r.max,
                                  r.predicted, r.time,     (unsigned)r.cold};
    const char *wrong = ry_wisdom_complaint(&key, &own);
    if (wrong) {
        return ry_api_end(ry_fail(&error, RYND_ERROR_ARGUMENT,
                                  "rynd_wisdom_format: the record's %s is none that one may have",
                                  wrong),
                          &error);
    }
    ry_arena arena;
    ry_arena_init(&arena, &ry_system_allocator);
    ry_text text = {.arena = &arena};
    ry_wisdom_print_line(&key, &own, &text);
    if (!text.failed) {
        *length = text.used;
        if (to && size) {
            snprintf(to, size, "%s", text.at);
        }
    }
    const bool failed = text.failed;
    ry_arena_free(&arena);
    return failed ? ry_api_end(ry_fail_memory(&error), &error) : RYND_OK;
}

rynd_status rynd_wisdom_export(rynd_context *context, const rynd_wisdom_filter *given,
                               const char *path, size_t *count)
{
    RY_API_REQUIRE(context, path);
    ry_error error = {""};
    ry_wisdom_filter filter;
    size_t written = 0;
    rynd_status status = ry_api_wisdom_filter(given, &filter, &error);
    status = status != RYND_OK ? status
                               : ry_wisdom_write_lines(context->wisdom, &filter, path,
                                                       &context->allocator, &written, &error);
    if (status == RYND_OK && count) {
        *count = written;
    }
    return ry_api_end(status, &error);
}

static rynd_status take_rows(rynd_context *context, const ry_wisdom_row *rows, size_t count,
                             rynd_wisdom_count *counted, ry_error *error)
{
    *counted = RYND_SIZED(rynd_wisdom_count, .read = count);
    for (size_t i = 0; i < count; i++) {
        counted->foreign += !is_here(context, rows[i].key.machine);
    }
    return ry_wisdom_merge(context->wisdom, rows, count, &counted->taken, error);
}

static rynd_status import_file(rynd_context *context, const char *path, ry_arena *arena,
                               rynd_wisdom_count *counted, ry_error *error)
{
    ry_wisdom_row *rows;
    size_t count;
    RY_TRY(ry_wisdom_read_lines(path, arena, &rows, &count, error));
    return take_rows(context, rows, count, counted, error);
}

typedef struct collection {
    ry_arena *arena;
    ry_wisdom_row *rows;
    size_t count, capacity;
} collection;

static const char *copy(ry_arena *arena, const char *text)
{
    return ry_arena_string(arena, text, strlen(text));
}

static rynd_status collect(void *user, const ry_wisdom_key *key, const ry_wisdom_record *record,
                           ry_error *error)
{
    collection *c = user;
    ry_wisdom_row *grown =
        ry_arena_grow(c->arena, c->rows, c->count, &c->capacity, sizeof *c->rows);
    if (!grown) {
        return ry_fail_memory(error);
    }
    c->rows = grown;
    ry_wisdom_row *row = &grown[c->count++];
    *row = (ry_wisdom_row){*key, *record};
    row->key.machine = copy(c->arena, key->machine);
    row->key.problem = copy(c->arena, key->problem);
    row->record.kernel = copy(c->arena, record->kernel);
    row->record.form = copy(c->arena, record->form);
    row->record.rejected = record->rejected ? copy(c->arena, record->rejected) : NULL;
    return row->key.machine && row->key.problem && row->record.kernel && row->record.form &&
                   !row->record.rejected == !record->rejected
               ? RYND_OK
               : ry_fail_memory(error);
}

rynd_status ry_api_wisdom_rows(ry_wisdom *wisdom, const ry_wisdom_filter *filter, ry_arena *arena,
                               ry_wisdom_row **rows, size_t *count, ry_error *error)
{
    collection c = {.arena = arena};
    RY_TRY(ry_wisdom_visit(wisdom, filter, collect, &c, error));
    *rows = c.rows;
    *count = c.count;
    return RYND_OK;
}

/* Reads as a frozen wisdom does: nothing is written, not even where it could be. */
static rynd_status merge_file(rynd_context *context, const char *path, ry_arena *arena,
                              rynd_wisdom_count *counted, ry_error *error)
{
    ry_wisdom *other;
    ry_wisdom_row *rows = NULL;
    size_t count = 0;
    if (access(path, F_OK) != 0) {
        return ry_fail(error, RYND_ERROR_IO, "%s: cannot read the wisdom: %s", path,
                       strerror(errno));
    }
    RY_TRY(ry_wisdom_open(path, true, &context->allocator, &other, error));
    const char *why = ry_wisdom_failure(other);
    rynd_status status =
        why ? ry_fail(error, RYND_ERROR_FORMAT, "%s: cannot read the wisdom: %s", path, why)
            : ry_api_wisdom_rows(other, NULL, arena, &rows, &count, error);
    ry_wisdom_close(other);
    return status != RYND_OK ? status : take_rows(context, rows, count, counted, error);
}

typedef rynd_status (*take_file)(rynd_context *context, const char *path, ry_arena *arena,
                                 rynd_wisdom_count *counted, ry_error *error);

static rynd_status take_in(rynd_context *context, const char *path, take_file take,
                           rynd_wisdom_count *count)
{
    ry_error error = {""};
    ry_arena arena;
    rynd_wisdom_count own = RYND_SIZED(rynd_wisdom_count);
    ry_arena_init(&arena, &context->allocator);
    rynd_status status = require_wisdom(context, &error);
    if (status == RYND_OK && count) {
        /* said before anything is written, too */
        status = ry_api_info(count, &own, sizeof own, "rynd_wisdom_count", &error);
    }
    status = status != RYND_OK ? status : take(context, path, &arena, &own, &error);
    if (status == RYND_OK && count) {
        status = ry_api_info(count, &own, sizeof own, "rynd_wisdom_count", &error);
    }
    ry_arena_free(&arena);
    return ry_api_end(status, &error);
}

rynd_status rynd_wisdom_import(rynd_context *context, const char *path, rynd_wisdom_count *count)
{
    RY_API_REQUIRE(context, path);
    return take_in(context, path, import_file, count);
}

rynd_status rynd_wisdom_merge(rynd_context *context, const char *path, rynd_wisdom_count *count)
{
    RY_API_REQUIRE(context, path);
    return take_in(context, path, merge_file, count);
}

rynd_status rynd_wisdom_clear(rynd_context *context, const rynd_wisdom_filter *given,
                              size_t *cleared)
{
    RY_API_REQUIRE(context);
    ry_error error = {""};
    ry_wisdom_filter filter;
    size_t count = 0;
    rynd_status status = require_wisdom(context, &error);
    status = status != RYND_OK ? status : ry_api_wisdom_filter(given, &filter, &error);
    status = status != RYND_OK ? status : ry_wisdom_clear(context->wisdom, &filter, &count, &error);
    if (status == RYND_OK && cleared) {
        *cleared = count;
    }
    return ry_api_end(status, &error);
}
