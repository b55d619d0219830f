/* SPDX-License-Identifier: Apache-2.0 */
/* rynd tune: measures which kernels and forms are fastest here. */
#include "commands.h"
#include "ending.h"
#include "json_out.h"
#include "notes.h"
#include "progress.h"
#include "random_problem.h"
#include "setup.h"
#include "statistics.h"
#include "tune_report.h"
#include "tune_samples.h"
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tune_settings {
    cli_common common;
    double budget;
    bool report;
    int64_t seed, count;
    const char *samples;
    int weights, random;
    cli_list ranges;
} tune_settings;

static const tune_settings defaults = {.seed = 1, .count = 100};

#define OFFSET(field) offsetof(tune_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"budget", 0, CLI_NUMBER, "S", NULL, 0.001, 1e9, OFFSET(budget),
     "time budget in seconds, for all arguments together (default: 0.1 and 400 runs for a "
     "problem, at most 20 for a model)"},
    {"report", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(report),
     "print n, mean, variance, median, min and max of the default and the tuned choice"},
    {"weights", 0, CLI_CHOICE, "WHERE", "cold|warm", 0, 0, OFFSET(weights),
     "measure with weights in memory or in the caches (default: cold; for a model, warm if its "
     "weights fit the caches)"},
    {"seed", 0, CLI_INTEGER, "N", NULL, 0, 1e15, OFFSET(seed),
     "random seed (inputs, order of runs, --random; default 1)"},
    {"samples", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(samples),
     "write one row per measured form to FILE.csv or FILE.jsonl"},
    {"random", 0, CLI_CHOICE, "KIND", "conv", 0, 0, OFFSET(random),
     "tune random problems instead of arguments"},
    {"count", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(count),
     "number of random problems (default 100)"},
    {"range", 0, CLI_LIST, "NAME=A..B", NULL, 0, 0, OFFSET(ranges),
     "bounds of random problems: n, c, k, size, flop; may be repeated"},
    {0},
};
/* clang-format on */

/* Seconds for a random problem: enough for some forms of it. */
static const double RANDOM_BUDGET = 0.2, WRITE_SECONDS = 30;

typedef struct tune_run {
    const tune_settings *settings;
    cli_setup setup;
    cli_progress progress;
    cli_tune_samples samples;
    cli_random_ranges ranges;
    uint64_t random;
    double end, written; /* cli_now: the budget's end, 0: none; of the file of samples */
    size_t at, all;      /* subjects */
    cJSON *document, *results;
    cli_table table;
    FILE *summary; /* into memory: what is printed behind the table */
    char *summary_text;
    size_t summary_size;
} tune_run;

static int on_progress(void *user, const rynd_progress *progress)
{
    tune_run *t = user;
    const rynd_tune_progress *p = progress->tuning;
    char label[96];
    if (!p->problem[0] && p->knobs[0]) {
        snprintf(label, sizeof label, "plan %zu/%zu: %.3fx with %s", p->index + 1, p->count,
                 p->ratio, p->knobs);
    } else if (!p->problem[0]) {
        snprintf(label, sizeof label, "whole runs, interleaved: %.3fx", p->ratio);
    } else if (p->left) {
        snprintf(label, sizeof label, "%zu/%zu: %zu left, %.2fx, saves %s", p->index + 1, p->count,
                 p->left, p->ratio, cli_word_seconds(p->saved).text);
    } else {
        snprintf(label, sizeof label, "%zu/%zu: form %zu of %zu, saves %s", p->index + 1, p->count,
                 p->looked, p->forms, cli_word_seconds(p->saved).text);
    }
    const double own = p->budget > 0 ? p->spent / p->budget : 0;
    cli_progress_show(&t->progress, label, ((double)t->at + (own < 1 ? own : 1)) / (double)t->all);
    return cli_ending_was_asked();
}

/* An equal share of what is left. */
static double budget_of(const tune_run *t)
{
    const double left = t->end > 0 ? t->end - cli_now() : 0;
    const double share = left / (double)(t->all - t->at);
    return t->end > 0 ? (share > 1e-6 ? share : 1e-6) : t->settings->random ? RANDOM_BUDGET : 0;
}

static bool add_result(tune_run *t, const char *name, const rynd_tuning *tuning, bool model,
                       cli_failure *failure)
{
    if (!cli_tune_samples_add(&t->samples, tuning, failure)) {
        return false;
    }
    if (t->samples.path && cli_now() - t->written > WRITE_SECONDS) {
        t->written = cli_now();
        if (!cli_tune_samples_write(&t->samples, failure)) {
            return false;
        }
    }
    if (t->settings->random && t->samples.path) {
        return true;
    }
    return t->settings->common.json
               ? cli_tune_add_json(t->results, name, tuning, model, failure)
               : cli_tune_table_add(&t->table, tuning, t->settings->report, failure);
}

static bool check_sets(const cli_common *common, cli_failure *failure)
{
    return common->settings.count == 0
               ? true
               : cli_fail_usage(failure, "--set: a problem's tuning takes no --set; leave it out");
}

static bool tune_problem(tune_run *t, const char *text, rynd_tune_options *how,
                         rynd_tuning **tuning, cli_failure *failure)
{
    how->accuracy = (rynd_accuracy)t->settings->common.accuracy;
    how->constants = cli_constants_of(text);
    return check_sets(&t->settings->common, failure) &&
           (rynd_tune_problem(t->setup.context, text, how, tuning) == RYND_OK ||
            cli_fail_library(failure));
}

static bool tune_model(tune_run *t, const char *path, const rynd_tune_options *how,
                       rynd_tuning **tuning, cli_failure *failure)
{
    rynd_plan_options plan;
    if (!cli_setup_model(&t->setup, path, failure) ||
        !cli_setup_plan_options(&t->setup, &t->settings->common, NULL, &plan, failure)) {
        return false;
    }
    return rynd_tune_model(t->setup.model, &plan, how, tuning) == RYND_OK
               ? true
               : cli_fail_library(failure);
}

static bool tune_one(tune_run *t, const char *name, cli_failure *failure)
{
    rynd_tuning *tuning = NULL;
    rynd_tune_options own =
        RYND_SIZED(rynd_tune_options, .budget = budget_of(t), .seed = (uint64_t)t->settings->seed,
                   .weights = (rynd_tune_weights)t->settings->weights, .progress = on_progress,
                   .progress_user = t, .without_wisdom = t->settings->random != 0,
                   .energy = t->settings->samples != NULL);
    const bool model = !t->settings->random && !cli_is_problem(name);
    bool done = model ? tune_model(t, name, &own, &tuning, failure)
                      : tune_problem(t, name, &own, &tuning, failure);
    done = done && add_result(t, name, tuning, model, failure);
    if (done && t->summary && !t->settings->random) {
        done = cli_tune_print_summary(t->summary, name, tuning, model, failure);
    }
    rynd_tuning_destroy(tuning);
    cli_setup_close_model(&t->setup);
    t->at++;
    return done;
}

static bool tune_all(tune_run *t, cli_failure *failure)
{
    const tune_settings *s = t->settings;
    if (!cli_setup_context(&t->setup, &s->common, failure) ||
        !cli_tune_samples_begin(&t->samples, s->samples, t->setup.context, failure)) {
        return false;
    }
    t->written = cli_now();
    t->end = s->budget > 0 ? cli_now() + s->budget : 0;
    t->all = s->random ? (size_t)s->count : s->common.arguments.count;
    while (t->at < t->all && !cli_ending_was_asked() &&
           !(s->random && t->end > 0 && cli_now() > t->end)) {
        char text[CLI_PROBLEM];
        if (s->random && !cli_random_problem(&t->ranges, &t->random, text, failure)) {
            return false;
        }
        if (!tune_one(t, s->random ? text : s->common.arguments.items[t->at], failure)) {
            return false;
        }
    }
    return true;
}

static bool check_usage(const tune_settings *s, cli_failure *failure)
{
    if (s->random && s->common.arguments.count) {
        return cli_fail_usage(failure, "tune: '%s' and --random: give one of them",
                              s->common.arguments.items[0]);
    }
    if (!s->random && s->ranges.count) {
        return cli_fail_usage(failure, "tune: --range needs --random");
    }
    return s->random || s->common.arguments.count
               ? true
               : cli_fail_usage(failure, "tune: MODEL|'PROBLEM' is missing; usage: rynd tune "
                                         "MODEL|'PROBLEM'...");
}

/* What was measured before a failure, or before somebody ended it, is kept. */
static bool print(tune_run *t, bool done, cli_failure *failure)
{
    cli_failure other = {0};
    const bool wrote = cli_tune_samples_write(&t->samples, done ? failure : &other);
    done = done && wrote;
    if (t->settings->common.json && done) {
        return cli_json_print(t->document, failure);
    }
    if (t->settings->common.json) {
        cJSON_Delete(t->document);
        return false;
    }
    const bool rows = t->table.count > t->table.columns;
    const bool printed = cli_table_print(&t->table, rows ? stdout : NULL);
    const bool told = t->summary && fclose(t->summary) == 0;
    if (told && (rows || done)) {
        printf("%s%s", rows ? "\n" : "", t->summary_text);
    }
    free(t->summary_text);
    if (t->samples.path && wrote) {
        printf("%zu samples of %zu problems in %s\n", t->samples.rows, t->at, t->samples.path);
    }
    return done && (printed || cli_fail_memory(failure));
}

static bool run(void *data, cli_failure *failure)
{
    tune_run t = {.settings = data};
    t.random = (uint64_t)t.settings->seed;
    if (!check_usage(t.settings, failure) ||
        !cli_random_ranges_read(&t.settings->ranges, &t.ranges, failure)) {
        return false;
    }
    if (t.settings->common.json) {
        t.document = cli_json_begin("tune", &t.results);
    } else {
        cli_tune_table_begin(&t.table, t.settings->report);
        t.summary = open_memstream(&t.summary_text, &t.summary_size);
    }
    cli_ending_waits();
    cli_progress_begin(&t.progress, &t.settings->common);
    const bool tuned = tune_all(&t, failure);
    cli_progress_end(&t.progress);
    const bool done = print(&t, tuned, failure);
    cli_tune_samples_free(&t.samples);
    cli_setup_close(&t.setup);
    if (done) {
        cli_ending_give_in();
    }
    return done;
}

const cli_command cli_command_tune = {
    .name = "tune",
    .arguments = "MODEL|'PROBLEM'...",
    .least = 0,
    .most = SIZE_MAX,
    .help = "measure which kernels and forms are fastest on this machine",
    .text = "Checks every form of every kernel for a problem against the reference, then times the "
            "forms interleaved. The untuned choice stays unless another one is faster by 2% and "
            "beyond noise.\n"
            "For a model, first times plans with other layouts, fusions and micro-batches, then "
            "tunes the distinct problems of the best plan, and compares the result with the "
            "untuned plan, run by run. Ctrl-C stops the tuning and keeps its results.",
    .examples = "rynd tune model.onnx --budget 60\n"
                "rynd tune 'conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1' --report",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(tune_settings),
    .defaults = &defaults,
    .run = run,
};
