/* SPDX-License-Identifier: Apache-2.0 */
/* Calibrates a device, and prints the errors of predictions by family, as a table or as JSON. */
#include "calibration_report.h"

#include "line.h"
#include "progress.h"
#include "table.h"

#include <stdio.h>

static int show(void *bar, const rynd_progress *progress)
{
    cli_progress_show(bar, "calibrating", (double)progress->done / (double)progress->all);
    return 0;
}

bool cli_calibrate(const cli_setup *setup, const cli_common *common, double seconds,
                   rynd_machine *machine, cli_failure *failure)
{
    cli_progress progress;
    cli_progress_begin(&progress, common);
    cli_progress_show(&progress, "calibrating", 0);
    const rynd_calibrate_options how = RYND_SIZED(rynd_calibrate_options, .seconds = seconds,
                                                  .progress = show, .progress_user = &progress);
    const bool done = rynd_context_calibrate(setup->context, &how, machine) == RYND_OK;
    cli_progress_end(&progress);
    return done ? true : cli_fail_library(failure);
}

static void add_json(cJSON *families, const rynd_calibrated_family *f)
{
    cJSON *row = cli_json_object_in(families);
    cli_json_text(row, "family", f->family);
    cli_json_number(row, "problems", f->problems);
    cli_json_number(row, "times", f->times);
    cli_json_number(row, "factor", f->factor);
    cli_json_number(row, "spread", f->spread);
    cli_json_number(row, "error_before", f->error_before);
    cli_json_number(row, "error_after", f->error_after);
}

static void add_row(cli_table *table, const rynd_calibrated_family *f)
{
    cli_table_add(table, "%s", f->family);
    cli_table_add(table, "%u", f->problems);
    cli_table_add(table, "%u", f->times);
    cli_table_add(table, "%.2f", f->factor);
    cli_table_add(table, "%.1f%%", 100 * f->error_before);
    cli_table_add(table, "%.1f%%", 100 * f->error_after);
}

/* Without a meter "no meter", or null. */
static bool report_energy(const cli_setup *setup, cJSON *result, cli_failure *failure)
{
    rynd_calibrated_energy e = RYND_SIZED(rynd_calibrated_energy);
    if (rynd_context_get_calibrated_energy(setup->context, &e) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (result && !*e.meter) {
        cJSON_AddNullToObject(result, "calibrated_energy");
    } else if (result) {
        cJSON *energy = cJSON_AddObjectToObject(result, "calibrated_energy");
        cli_json_text(energy, "meter", e.meter);
        cli_json_number(energy, "problems", e.problems);
        cli_json_number(energy, "spread", e.spread);
        cli_json_number(energy, "error_before", e.error_before);
        cli_json_number(energy, "error_after", e.error_after);
    } else if (!*e.meter) {
        cli_line(stdout, "energy: no meter");
    } else if (e.error_before > 0) {
        cli_line(stdout,
                 "energy by %s of %u problems: mean error %.1f%% before, %.1f%% for problems left "
                 "out%s",
                 e.meter, e.problems, 100 * e.error_before, 100 * e.error_after,
                 e.spread > 0 ? "" : "; watts times time is kept");
    } else {
        cli_line(stdout, "energy: %s gave %u problems, too few for a fit", e.meter, e.problems);
    }
    return true;
}

bool cli_report_calibration(const cli_setup *setup, cJSON *result, cli_failure *failure)
{
    static const char *const columns[] = {"family", "problems",     "times",
                                          "factor", "error before", "error left out"};
    const size_t count = rynd_context_calibrated_count(setup->context);
    cJSON *families = result ? cJSON_AddArrayToObject(result, "calibrated") : NULL;
    cli_table table;
    double before = 0, after = 0, times = 0;
    cli_table_begin(&table, "lrrrrr", columns);
    for (size_t i = 0; i < count; i++) {
        rynd_calibrated_family f = RYND_SIZED(rynd_calibrated_family);
        if (rynd_context_get_calibrated(setup->context, i, &f) != RYND_OK) {
            cli_table_print(&table, NULL);
            return cli_fail_library(failure);
        }
        before += f.times * f.error_before;
        after += f.times * f.error_after;
        times += f.times;
        if (result) {
            add_json(families, &f);
        } else {
            add_row(&table, &f);
        }
    }
    if (!cli_table_print(&table, result ? NULL : stdout)) {
        return cli_fail_memory(failure);
    }
    if (!result && times > 0) {
        cli_line(stdout, "%.0f times: mean error %.1f%% before, %.1f%% for problems left out",
                 times, 100 * before / times, 100 * after / times);
    }
    return report_energy(setup, result, failure);
}
