/* SPDX-License-Identifier: Apache-2.0 */
/* What a check of a device found, as a table or as JSON. */
#include "check_report.h"

#include "line.h"
#include "progress.h"
#include "table.h"

#include <stdio.h>

static int show(void *bar, const rynd_progress *progress)
{
    cli_progress_show(bar, "checking", (double)progress->done / (double)progress->all);
    return 0;
}

static bool run_check(const cli_setup *setup, const cli_common *common, const char **file,
                      cli_failure *failure)
{
    cli_progress progress;
    cli_progress_begin(&progress, common);
    cli_progress_show(&progress, "checking", 0);
    const rynd_check_options how =
        RYND_SIZED(rynd_check_options, .progress = show, .progress_user = &progress);
    const bool done = rynd_context_check(setup->context, &how, file) == RYND_OK;
    cli_progress_end(&progress);
    return done ? true : cli_fail_library(failure);
}

static bool is_wrong(const rynd_checked_kernel *kernel)
{
    return kernel->finding > RYND_FINDING_RIGHT;
}

static void add_json(cJSON *kernels, const rynd_checked_kernel *kernel)
{
    cJSON *row = cli_json_object_in(kernels);
    cli_json_text(row, "kernel", kernel->kernel);
    cli_json_text(row, "operator", kernel->op);
    cli_json_text(row, "finding", rynd_finding_text(kernel->finding));
    cli_json_number(row, "problems", kernel->problems);
    cli_json_text(row, "problem", kernel->problem);
    cli_json_text(row, "why", kernel->why);
}

static void add_row(cli_table *table, const rynd_checked_kernel *kernel)
{
    cli_table_add(table, "%s", kernel->kernel);
    cli_table_add(table, "%d", kernel->problems);
    cli_table_add(table, "%s", rynd_finding_text(kernel->finding));
    cli_table_add(table, "%s%s%.200s", kernel->problem, *kernel->problem ? ": " : "", kernel->why);
}

bool cli_report_check(const cli_setup *setup, const cli_common *common, cJSON *result,
                      size_t *wrong, cli_failure *failure)
{
    static const char *const columns[] = {"kernel", "problems", "finding", ""};
    const char *file = NULL;
    size_t refused = 0;
    if (!run_check(setup, common, &file, failure)) {
        return false;
    }
    cJSON *check = result ? cJSON_AddObjectToObject(result, "check") : NULL,
          *kernels = result ? cJSON_AddArrayToObject(check, "kernels") : NULL;
    const size_t count = rynd_context_checked_count(setup->context);
    cli_table table;
    cli_table_begin(&table, "lrll", columns);
    for (size_t i = 0; i < count; i++) {
        rynd_checked_kernel kernel = RYND_SIZED(rynd_checked_kernel);
        if (rynd_context_get_checked(setup->context, i, &kernel) != RYND_OK) {
            cli_table_print(&table, NULL);
            return cli_fail_library(failure);
        }
        refused += is_wrong(&kernel);
        if (result) {
            add_json(kernels, &kernel);
        } else {
            add_row(&table, &kernel);
        }
    }
    *wrong += refused;
    if (result) {
        cli_json_text(check, "file", file);
        cli_table_print(&table, NULL);
        return true;
    }
    if (!cli_table_print(&table, stdout)) {
        return cli_fail_memory(failure);
    }
    cli_line(stdout, "%zu kernels, %zu not right%s%s%s", count, refused,
             refused ? " and not used from now on" : "", file ? "; kept in " : "",
             file ? file : "");
    return true;
}
