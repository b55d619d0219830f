/* SPDX-License-Identifier: Apache-2.0 */
/* rynd wisdom: what was measured, shown, exported, taken in, measured again, forgotten. */
#include "commands.h"
#include "ending.h"
#include "json_out.h"
#include "line.h"
#include "notes.h"
#include "setup.h"
#include "wisdom_tables.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct wisdom_settings {
    cli_common common;
    const char *machine, *kernel, *problem;
    int64_t count, seed;
    double seconds;
} wisdom_settings;

#define OFFSET(field) offsetof(wisdom_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"fingerprint", 0, CLI_TEXT, "TEXT", NULL, 0, 0, OFFSET(machine),
     "only records whose machine contains TEXT, or matches TEXT if it has a *, ? or ["},
    {"kernel", 0, CLI_TEXT, "TEXT", NULL, 0, 0, OFFSET(kernel),
     "only records whose kernel contains or matches TEXT"},
    {"problem", 0, CLI_TEXT, "TEXT", NULL, 0, 0, OFFSET(problem),
     "only records whose problem contains or matches TEXT"},
    {"count", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(count),
     "check: largest number of records to measure (default 20)"},
    {"seconds", 0, CLI_NUMBER, "S", NULL, 0.001, 3600, OFFSET(seconds),
     "check: measure each record for at least S seconds (default 0.1)"},
    {"seed", 0, CLI_INTEGER, "N", NULL, 0, 1e18, OFFSET(seed),
     "check: random seed of the sample of records (default 0)"},
    {0},
};
/* clang-format on */

/* What an action works with. */
typedef struct job {
    const wisdom_settings *settings;
    rynd_context *context;
    rynd_wisdom_filter filter;
    const char *file; /* NULL: none is given */
    cJSON *results;   /* NULL: text */
    cli_failure *failure;
} job;

static bool show(const job *j)
{
    cli_wisdom_list list;
    cli_wisdom_list_begin(&list, j->results);
    const rynd_status status = rynd_wisdom_show(j->context, &j->filter, cli_wisdom_list_add, &list);
    return cli_wisdom_list_end(&list, status, j->failure);
}

/* Prints a record as a line of JSON. Returns nonzero if memory is out, which stops the export. */
static int print_line(void *user, const rynd_wisdom_record *record)
{
    size_t length = 0;
    char *line = NULL;
    (void)user;
    bool done = rynd_wisdom_format(record, NULL, 0, &length) == RYND_OK;
    line = done ? malloc(length + 1) : NULL;
    done = line && rynd_wisdom_format(record, line, length + 1, &length) == RYND_OK;
    if (done) {
        puts(line);
    }
    free(line);
    return !done;
}

static bool export_records(const job *j)
{
    size_t count = 0;
    if (!j->file) {
        return rynd_wisdom_show(j->context, &j->filter, print_line, NULL) == RYND_OK
                   ? true
                   : cli_fail_library(j->failure);
    }
    sigset_t before;
    cli_ending_hold(&before); /* the library removes what it writes aside, but for a signal */
    const rynd_status status = rynd_wisdom_export(j->context, &j->filter, j->file, &count);
    cli_ending_release(&before);
    if (status != RYND_OK) {
        return cli_fail_library(j->failure);
    }
    if (j->results) {
        cJSON *result = cli_json_object_in(j->results);
        cli_json_text(result, "file", j->file);
        cli_json_number(result, "written", (double)count);
    } else {
        cli_line(stdout, "%s: %zu record%s", j->file, count, count == 1 ? "" : "s");
    }
    return true;
}

typedef rynd_status (*take_in)(rynd_context *context, const char *path, rynd_wisdom_count *count);

static bool take(const job *j, take_in function)
{
    rynd_wisdom_count count = RYND_SIZED(rynd_wisdom_count);
    if (function(j->context, j->file, &count) != RYND_OK) {
        return cli_fail_library(j->failure);
    }
    if (j->results) {
        cJSON *result = cli_json_object_in(j->results);
        cli_json_text(result, "file", j->file);
        cli_json_number(result, "read", (double)count.read);
        cli_json_number(result, "taken", (double)count.taken);
        cli_json_number(result, "foreign", (double)count.foreign);
    } else {
        cli_line(stdout, "%s: %zu record%s, %zu of them stored; %zu from other machines", j->file,
                 count.read, count.read == 1 ? "" : "s", count.taken, count.foreign);
    }
    return true;
}

static bool import_records(const job *j)
{
    return take(j, rynd_wisdom_import);
}

static bool merge(const job *j)
{
    return take(j, rynd_wisdom_merge);
}

static bool check(const job *j)
{
    const wisdom_settings *settings = j->settings;
    const rynd_wisdom_check_options how =
        RYND_SIZED(rynd_wisdom_check_options, .count = (size_t)settings->count,
                   .seconds = settings->seconds, .seed = (uint64_t)settings->seed);
    cli_wisdom_drifts drifts;
    cli_wisdom_drifts_begin(&drifts, &settings->common, j->results);
    const rynd_status status =
        rynd_wisdom_check(j->context, &j->filter, &how, cli_wisdom_drifts_add, &drifts);
    return cli_wisdom_drifts_end(&drifts, status, j->failure);
}

static bool clear(const job *j)
{
    size_t cleared = 0;
    if (rynd_wisdom_clear(j->context, &j->filter, &cleared) != RYND_OK) {
        return cli_fail_library(j->failure);
    }
    if (j->results) {
        cli_json_number(cli_json_object_in(j->results), "cleared", (double)cleared);
    } else {
        cli_line(stdout, "%zu record%s cleared", cleared, cleared == 1 ? "" : "s");
    }
    return true;
}

typedef struct action {
    const char *name;
    size_t least, most; /* files behind it */
    bool filters, samples;
    bool (*run)(const job *j);
} action;

static const action actions[] = {
    {"show", 0, 0, true, false, show},
    {"export", 0, 1, true, false, export_records},
    {"import", 1, 1, false, false, import_records},
    {"merge", 1, 1, false, false, merge},
    {"check", 0, 0, true, true, check},
    {"clear", 0, 0, true, false, clear},
};
enum { ACTIONS = sizeof actions / sizeof *actions };

static const action *find_action(const char *name, cli_failure *failure)
{
    for (int i = 0; i < ACTIONS; i++) {
        if (strcmp(actions[i].name, name) == 0) {
            return &actions[i];
        }
    }
    cli_fail_usage(failure,
                   "wisdom: there is no '%s'; give show, export, import, merge, check or clear",
                   name);
    return NULL;
}

/* An option that an action has no use for is a mistake. */
static bool check_usage(const action *a, const wisdom_settings *settings, cli_failure *failure)
{
    const size_t files = settings->common.arguments.count - 1;
    const bool filters = settings->machine || settings->kernel || settings->problem;
    const bool samples = settings->count > 0 || settings->seconds > 0 || settings->seed > 0;
    if (files < a->least) {
        return cli_fail_usage(failure, "wisdom %s: a file is missing; usage: rynd wisdom %s FILE",
                              a->name, a->name);
    }
    if (files > a->most) {
        return cli_fail_usage(failure, "wisdom %s: '%s' is one argument too many", a->name,
                              settings->common.arguments.items[1 + a->most]);
    }
    if (filters && !a->filters) {
        return cli_fail_usage(
            failure,
            "wisdom %s reads all records: --machine, --kernel and --problem apply to show, export,"
            " check and clear",
            a->name);
    }
    if (samples && !a->samples) {
        return cli_fail_usage(failure, "wisdom %s: --count, --seconds and --seed apply to check",
                              a->name);
    }
    return a->run == export_records && settings->common.json && files == 0
               ? cli_fail_usage(failure,
                                "wisdom export prints JSON Lines: leave out --json, or name a FILE")
               : true;
}

static bool run(void *given, cli_failure *failure)
{
    const wisdom_settings *settings = given;
    const cli_list *arguments = &settings->common.arguments;
    const action *a = find_action(arguments->items[0], failure);
    if (!a || !check_usage(a, settings, failure)) {
        return false;
    }
    cli_setup setup = {0};
    cJSON *results = NULL,
          *document = settings->common.json ? cli_json_begin("wisdom", &results) : NULL;
    bool done = cli_setup_context(&setup, &settings->common, failure);
    if (done) {
        const job j = {
            .settings = settings,
            .context = setup.context,
            .filter = {sizeof j.filter, settings->machine, settings->kernel, settings->problem},
            .file = arguments->count > 1 ? arguments->items[1] : NULL,
            .results = results,
            .failure = failure};
        done = a->run(&j);
    }
    cli_setup_close(&setup);
    if (!done) {
        cJSON_Delete(document);
        return false;
    }
    return document ? cli_json_print(document, failure) : true;
}

const cli_command cli_command_wisdom = {
    .name = "wisdom",
    .arguments = "show|export|import|merge|check|clear [FILE]",
    .least = 1,
    .most = SIZE_MAX,
    .help = "show, share, check or clear stored measurements",
    .text = "Plans use the fastest measured kernel and form of a problem, if the file of --wisdom "
            "has a record of it.\n"
            "\n"
            "  show          prints the records. 'stale': this build has another version of the\n"
            "                kernel. 'foreign': another machine\n"
            "  export [FILE] writes sorted JSON Lines: the same records give the same bytes\n"
            "  import FILE   adds exported records\n"
            "  merge FILE    adds the records of another wisdom file\n"
            "  check         measures some records again: ratio of now to then\n"
            "  clear         deletes the records",
    .examples = "rynd wisdom show --problem 'conv *'\n"
                "rynd wisdom export wisdom.jsonl",
    .options = options,
    .uses = CLI_USE_DEVICE | CLI_USE_WISDOM | CLI_USE_THREADS | CLI_USE_TABLES,
    .settings_size = sizeof(wisdom_settings),
    .run = run,
};
