/* SPDX-License-Identifier: Apache-2.0 */
/* Records of wisdom as tables and as JSON. */
#include "wisdom_tables.h"

#include "line.h"
#include "wording.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_record(cJSON *result, const rynd_wisdom_record *record)
{
    char source[20];
    snprintf(source, sizeof source, "%016" PRIx64, record->source);
    cli_json_text(result, "machine", record->machine);
    cli_json_text(result, "problem", record->problem);
    cli_json_number(result, "constants", record->constants);
    cli_json_number(result, "threads", record->threads);
    cli_json_text(result, "kernel", record->kernel);
    cli_json_text(result, "form", record->form);
    cli_json_text(result, "source", source);
    cli_json_text(result, "rejected", record->rejected);
    cli_json_number(result, "samples", (double)record->samples);
    cli_json_number(result, "mean", record->mean);
    cli_json_number(result, "variance", record->variance);
    cli_json_number(result, "median", record->median);
    cli_json_number(result, "min", record->min);
    cli_json_number(result, "max", record->max);
    cli_json_number(result, "predicted", record->predicted);
    cli_json_number(result, "time", (double)record->time);
    cJSON_AddBoolToObject(result, "cold", record->cold);
    cJSON_AddBoolToObject(result, "here", record->here);
    cJSON_AddBoolToObject(result, "current", record->current);
}

static void add_row(cli_table *table, const rynd_wisdom_record *record)
{
    const bool timed = record->samples > 0;
    cli_table_add(table, "%s", record->problem);
    cli_table_add(table, "%u", record->threads);
    cli_table_add(table, "%s", record->kernel);
    cli_table_add(table, "%s", record->form);
    cli_table_add(table, "%" PRId64, record->samples);
    cli_table_add(table, "%s", timed ? cli_word_seconds(record->median).text : "");
    cli_table_add(table, "%s", timed ? cli_word_seconds(record->min).text : "");
    cli_table_add(table, "%s", timed ? cli_word_seconds(record->max).text : "");
    cli_table_add(table, "%s",
                  record->predicted > 0 ? cli_word_seconds(record->predicted).text : "");
    cli_table_add(table, "%s%s%s", record->current ? "" : "stale",
                  !record->current && record->rejected ? "; " : "",
                  record->rejected ? record->rejected : "");
}

void cli_wisdom_list_begin(cli_wisdom_list *list, cJSON *results)
{
    *list = (cli_wisdom_list){.results = results};
}

static bool print_machine(cli_wisdom_list *list)
{
    if (!list->machine) {
        return true;
    }
    cli_line(stdout, "%s (%s)", list->machine, list->here ? "here" : "foreign");
    free(list->machine);
    list->machine = NULL;
    return cli_table_print(&list->table, stdout);
}

static bool begin_machine(cli_wisdom_list *list, const rynd_wisdom_record *record)
{
    static const char *const head[] = {"problem", "threads", "kernel", "form",      "n",
                                       "median",  "min",     "max",    "predicted", ""};
    const bool another = list->machine != NULL;
    if (!print_machine(list)) {
        return false;
    }
    if (another) {
        cli_line(stdout, "%s", "");
    }
    list->machine = strdup(record->machine);
    list->here = record->here;
    if (list->machine) {
        cli_table_begin(&list->table, "lrlLrrRRRl", head);
    }
    return list->machine != NULL;
}

int cli_wisdom_list_add(void *user, const rynd_wisdom_record *record)
{
    cli_wisdom_list *list = user;
    if (list->results) {
        add_record(cli_json_object_in(list->results), record);
        return 0;
    }
    if ((!list->machine || strcmp(list->machine, record->machine) != 0) &&
        !begin_machine(list, record)) {
        list->failed = true;
        return 1;
    }
    add_row(&list->table, record);
    return 0;
}

bool cli_wisdom_list_end(cli_wisdom_list *list, rynd_status status, cli_failure *failure)
{
    if (list->failed) {
        return cli_fail_memory(failure);
    }
    if (status != RYND_OK) {
        if (list->machine) {
            cli_table_print(&list->table, NULL);
            free(list->machine);
        }
        return cli_fail_library(failure);
    }
    return print_machine(list) ? true : cli_fail_memory(failure);
}

void cli_wisdom_drifts_begin(cli_wisdom_drifts *drifts, const cli_common *common, cJSON *results)
{
    static const char *const head[] = {"problem", "kernel", "form", "n", "then", "now", "ratio"};
    *drifts = (cli_wisdom_drifts){.results = results};
    cli_progress_begin(&drifts->progress, common);
    cli_table_begin(&drifts->table, "lllrrrr", head);
}

int cli_wisdom_drifts_add(void *user, const rynd_wisdom_drift *drift)
{
    cli_wisdom_drifts *drifts = user;
    const rynd_wisdom_record *record = drift->record;
    const double logarithm = log(drift->ratio);
    cli_progress_show(&drifts->progress, "measuring",
                      (double)(drift->index + 1) / (double)drift->count);
    drifts->least = drifts->count && drifts->least < drift->ratio ? drifts->least : drift->ratio;
    drifts->most = drifts->count && drifts->most > drift->ratio ? drifts->most : drift->ratio;
    drifts->logarithms += logarithm;
    drifts->count++;
    if (drifts->results) {
        cJSON *result = cli_json_object_in(drifts->results);
        add_record(result, record);
        cJSON *now = cJSON_AddObjectToObject(result, "now");
        cli_json_number(now, "samples", (double)drift->samples);
        cli_json_number(now, "median", drift->median);
        cli_json_number(now, "min", drift->min);
        cli_json_number(now, "max", drift->max);
        cli_json_number(result, "ratio", drift->ratio);
        return 0;
    }
    cli_table_add(&drifts->table, "%s", record->problem);
    cli_table_add(&drifts->table, "%s", record->kernel);
    cli_table_add(&drifts->table, "%s", record->form);
    cli_table_add(&drifts->table, "%" PRId64, drift->samples);
    cli_table_add(&drifts->table, "%s", cli_word_seconds(record->median).text);
    cli_table_add(&drifts->table, "%s", cli_word_seconds(drift->median).text);
    cli_table_add(&drifts->table, "%.2f", drift->ratio);
    return 0;
}

bool cli_wisdom_drifts_end(cli_wisdom_drifts *drifts, rynd_status status, cli_failure *failure)
{
    cli_progress_end(&drifts->progress);
    const bool text = status == RYND_OK && !drifts->results;
    const bool printed = cli_table_print(&drifts->table, text && drifts->count ? stdout : NULL);
    if (status != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (!printed) {
        return cli_fail_memory(failure);
    }
    if (text && drifts->count) {
        cli_line(stdout, "%zu record%s: now by then %.2f (geometric mean), %.2f to %.2f",
                 drifts->count, drifts->count == 1 ? "" : "s",
                 exp(drifts->logarithms / (double)drifts->count), drifts->least, drifts->most);
    } else if (text) {
        cli_line(
            stdout,
            "no record holds here: none has this machine, number of threads and version of its "
            "kernel");
    }
    return true;
}
