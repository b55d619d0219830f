/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and documents of tunings. */
#include "tune_report.h"

#include "line.h"
#include "wording.h"

#include <stdio.h>

/* A problem, and two of its forms. */
typedef struct tuned_row {
    rynd_tuned_problem problem;
    rynd_tuned_form untuned, taken;
    size_t samples; /* over all its forms */
} tuned_row;

static bool get_form(const rynd_tuning *tuning, size_t problem, size_t form, rynd_tuned_form *to,
                     cli_failure *failure)
{
    *to = RYND_SIZED(rynd_tuned_form);
    return rynd_tuning_get_form(tuning, problem, form, to) == RYND_OK ? true
                                                                      : cli_fail_library(failure);
}

/* Seconds by the paired ratio: medians of two forms also differ by what slowed some rounds. */
static double after_of(const tuned_row *row)
{
    return row->untuned.median * row->problem.ratio;
}

static bool get_row(const rynd_tuning *tuning, size_t index, tuned_row *row, cli_failure *failure)
{
    *row = (tuned_row){.problem = RYND_SIZED(rynd_tuned_problem)};
    if (rynd_tuning_get_problem(tuning, index, &row->problem) != RYND_OK) {
        return cli_fail_library(failure);
    }
    for (size_t i = 0; i < row->problem.forms; i++) {
        rynd_tuned_form form;
        if (!get_form(tuning, index, i, &form, failure)) {
            return false;
        }
        row->samples += form.n;
        row->untuned = i == 0 ? form : row->untuned;
        row->taken = i == row->problem.taken ? form : row->taken;
    }
    return true;
}

static bool get_info(const rynd_tuning *tuning, rynd_tuning_info *info, cli_failure *failure)
{
    *info = RYND_SIZED(rynd_tuning_info);
    return rynd_tuning_get_info(tuning, info) == RYND_OK ? true : cli_fail_library(failure);
}

void cli_tune_table_begin(cli_table *table, bool full)
{
    static const char *const brief[] = {"before",    "after", "ratio",  "forms",  "runs",
                                        "disturbed", "steps", "kernel", "problem"};
    static const char *const whole[] = {"form", "n",   "mean",           "variance", "median",
                                        "min",  "max", "variance ratio", "kernel",   "problem"};
    cli_table_begin(table, full ? "lrRRrrrRll" : "rrrRRRrll", full ? whole : brief);
}

static void add_seconds(cli_table *table, double seconds)
{
    cli_table_add(table, "%s", seconds > 0 ? cli_word_seconds(seconds).text : "-");
}

static void add_brief(cli_table *table, const tuned_row *row)
{
    const rynd_tuned_form *taken = &row->taken;
    add_seconds(table, row->untuned.median);
    add_seconds(table, after_of(row));
    cli_table_add(table, "%.3f", row->problem.ratio);
    cli_table_add(table, "%zu", row->problem.forms);
    cli_table_add(table, "%zu", row->samples);
    cli_table_add(table, "%.0f%%", 100 * row->problem.disturbance);
    cli_table_add(table, "%zu", row->problem.steps);
    cli_table_add(table, "%s%s%s%s", row->problem.taken ? "" : "untuned: ", taken->kernel,
                  taken->knobs[0] ? " " : "", taken->knobs);
    cli_table_add(table, "%s", row->problem.problem);
}

/* The tuned choice's over the untuned one's; 0: not known. */
static double variance_ratio(const tuned_row *row)
{
    return row->untuned.variance > 0 && row->taken.n > 1
               ? row->taken.variance / row->untuned.variance
               : 0;
}

static void add_full(cli_table *table, const tuned_row *row, const rynd_tuned_form *form,
                     const char *what)
{
    const bool tuned = form == &row->taken;
    cli_table_add(table, "%s", what);
    cli_table_add(table, "%zu", form->n);
    add_seconds(table, form->mean);
    cli_table_add(table, "%.2e s2", form->variance);
    add_seconds(table, form->median);
    add_seconds(table, form->min);
    add_seconds(table, form->max);
    if (tuned && variance_ratio(row) > 0) {
        cli_table_add(table, "%.2f", variance_ratio(row));
    } else {
        cli_table_add(table, "%s", "");
    }
    cli_table_add(table, "%s%s%s", form->kernel, form->knobs[0] ? " " : "", form->knobs);
    cli_table_add(table, "%s", tuned ? "" : row->problem.problem);
}

bool cli_tune_table_add(cli_table *table, const rynd_tuning *tuning, bool full,
                        cli_failure *failure)
{
    rynd_tuning_info info;
    if (!get_info(tuning, &info, failure)) {
        return false;
    }
    for (size_t i = 0; i < info.problems; i++) {
        tuned_row row;
        if (!get_row(tuning, i, &row, failure)) {
            return false;
        }
        if (full) {
            add_full(table, &row, &row.untuned, "default");
            add_full(table, &row, &row.taken, "tuned");
        } else {
            add_brief(table, &row);
        }
    }
    return true;
}

/* Was anything found that the network then did not confirm? */
static bool was_given_up(const rynd_tuning *tuning)
{
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    for (size_t i = 0; rynd_tuning_get_problem(tuning, i, &problem) == RYND_OK; i++) {
        if (problem.network_ratio > 0) {
            return true;
        }
    }
    return false;
}

bool cli_tune_print_summary(FILE *file, const char *name, const rynd_tuning *tuning, bool model,
                            cli_failure *failure)
{
    rynd_tuning_info info;
    if (!get_info(tuning, &info, failure)) {
        return false;
    }
    const char *ended = info.ended ? "; stopped before all forms were measured" : "";
    const char *used = cli_word_seconds(info.used).text;
    if (model && info.plans > 1) {
        rynd_tuned_plan taken = RYND_SIZED(rynd_tuned_plan);
        if (rynd_tuning_get_plan(tuning, info.plan, &taken) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cli_line(file, "%s: %zu of %zu other plans timed: %s", name, info.plans - 1,
                 info.plans_listed,
                 info.plan ? taken.knobs : "the untuned layouts, fusions and micro-batches stay");
    }
    if (info.problems == 0) {
        cli_line(file, "%s: nothing to measure: each step has a single kernel and form%s", name,
                 ended);
    } else if (!model) {
        cli_line(file, "%s: %s in %s%s", name,
                 info.taken ? "another form is faster" : "the untuned choice stays", used, ended);
    } else if (info.runs == 0) {
        cli_line(
            file, "%s: %zu problems tuned in %s%s; %s", name, info.problems, used, ended,
            info.taken ? "faster forms are stored; the whole model was not compared"
            : was_given_up(tuning)
                ? "the untuned choices stay: forms that are faster alone are not faster within the "
                  "network"
                : "the untuned choices stay");
    } else {
        cli_line(file, "%s: %s untuned, %s tuned (%.3f, %zu interleaved runs of each): %s; %s%s",
                 name, cli_word_seconds(info.before).text, cli_word_seconds(info.after).text,
                 info.ratio, info.runs,
                 info.taken ? "faster" : "not faster beyond noise, so the untuned choices stay",
                 used, ended);
    }
    return true;
}

static void add_form_json(cJSON *object, const char *key, const rynd_tuned_form *form)
{
    cJSON *o = cJSON_AddObjectToObject(object, key);
    cli_json_text(o, "kernel", form->kernel);
    cli_json_text(o, "knobs", form->knobs);
    cli_json_number(o, "n", (double)form->n);
    cli_json_number(o, "mean", form->mean);
    cli_json_number(o, "variance", form->variance);
    cli_json_number(o, "median", form->median);
    cli_json_number(o, "min", form->min);
    cli_json_number(o, "max", form->max);
    cli_json_number(o, "predicted", form->predicted);
}

static void add_problem_json(cJSON *problems, const tuned_row *row)
{
    cJSON *o = cli_json_object_in(problems);
    const rynd_tuned_problem *p = &row->problem;
    cli_json_text(o, "problem", p->problem);
    cli_json_number(o, "before", row->untuned.median);
    cli_json_number(o, "after", after_of(row));
    cli_json_number(o, "ratio", p->ratio);
    cli_json_text(o, "kernel", row->taken.kernel);
    cli_json_text(o, "knobs", row->taken.knobs);
    cli_json_number(o, "samples", (double)row->samples);
    cli_json_number(o, "time", p->seconds);
    cJSON_AddBoolToObject(o, "tuned", p->taken != 0);
    cli_json_number(o, "steps", (double)p->steps);
    cli_json_number(o, "forms", (double)p->forms);
    cli_json_number(o, "left_out", (double)p->left_out);
    cli_json_number(o, "rounds", (double)p->rounds);
    cli_json_number(o, "disturbed", (double)p->disturbed);
    cli_json_number(o, "disturbance", p->disturbance);
    cli_json_text(o, "weights", p->cold ? "cold" : "warm");
    cJSON_AddItemToObject(o, "network_ratio",
                          p->network_ratio > 0 ? cJSON_CreateNumber(p->network_ratio)
                                               : cJSON_CreateNull());
    cJSON_AddBoolToObject(o, "elsewhere", p->elsewhere);
    add_form_json(o, "default", &row->untuned);
    add_form_json(o, "choice", &row->taken);
    const double ratio = variance_ratio(row);
    cJSON_AddItemToObject(o, "variance_ratio",
                          ratio > 0 ? cJSON_CreateNumber(ratio) : cJSON_CreateNull());
}

static bool add_plans_json(cJSON *object, const rynd_tuning *tuning, const rynd_tuning_info *info,
                           cli_failure *failure)
{
    cJSON *plans = cJSON_AddArrayToObject(object, "plans");
    for (size_t i = 0; i < info->plans; i++) {
        rynd_tuned_plan plan = RYND_SIZED(rynd_tuned_plan);
        if (rynd_tuning_get_plan(tuning, i, &plan) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cJSON *o = cli_json_object_in(plans);
        cli_json_text(o, "knobs", plan.knobs);
        cli_json_number(o, "predicted", plan.predicted);
        cli_json_number(o, "n", (double)plan.n);
        cli_json_number(o, "mean", plan.mean);
        cli_json_number(o, "variance", plan.variance);
        cli_json_number(o, "median", plan.median);
        cli_json_number(o, "min", plan.min);
        cli_json_number(o, "max", plan.max);
        cli_json_number(o, "ratio", plan.ratio);
        cJSON_AddBoolToObject(o, "taken", i == info->plan);
    }
    cli_json_number(object, "plans_listed", (double)info->plans_listed);
    return true;
}

bool cli_tune_add_json(cJSON *results, const char *name, const rynd_tuning *tuning, bool model,
                       cli_failure *failure)
{
    rynd_tuning_info info;
    if (!get_info(tuning, &info, failure)) {
        return false;
    }
    cJSON *o = cli_json_object_in(results);
    cli_json_text(o, "name", name);
    cJSON *problems = cJSON_AddArrayToObject(o, "problems");
    for (size_t i = 0; i < info.problems; i++) {
        tuned_row row;
        if (!get_row(tuning, i, &row, failure)) {
            return false;
        }
        add_problem_json(problems, &row);
    }
    cli_json_number(o, "budget", info.budget);
    cli_json_number(o, "used", info.used);
    cJSON_AddBoolToObject(o, "ended", info.ended);
    if (model && !add_plans_json(o, tuning, &info, failure)) {
        return false;
    }
    if (model) {
        cJSON *whole = cJSON_AddObjectToObject(o, "model");
        cli_json_number(whole, "before", info.before);
        cli_json_number(whole, "after", info.after);
        cli_json_number(whole, "ratio", info.ratio);
        cli_json_number(whole, "runs", (double)info.runs);
        cJSON_AddBoolToObject(whole, "tuned", info.taken);
    }
    return true;
}
