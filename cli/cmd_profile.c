/* SPDX-License-Identifier: Apache-2.0 */
/* rynd profile: where the time of a model goes, step by step, beside what was predicted. */
#include "bench_subject.h"
#include "commands.h"
#include "json_out.h"
#include "limit.h"
#include "output_file.h"
#include "progress.h"
#include "statistics.h"
#include "table.h"
#include "wording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct profile_settings {
    cli_common common;
    double min_time;
    int64_t rounds, warmup;
    const char *trace;
} profile_settings;

static const profile_settings defaults = {.min_time = 0.5, .rounds = 10, .warmup = 2};

#define OFFSET(field) offsetof(profile_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"min-time", 0, CLI_NUMBER, "S", NULL, 0, 86400, OFFSET(min_time),
     "run for at least S seconds (default 0.5)"},
    {"rounds", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(rounds),
     "run at least N times (default 10)"},
    {"warmup", 0, CLI_INTEGER, "N", NULL, 0, 1e9, OFFSET(warmup),
     "untimed runs before (default 2)"},
    {"trace", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(trace),
     "write the steps' median times as a trace for chrome://tracing or ui.perfetto.dev"},
    {0},
};
/* clang-format on */

typedef struct profile {
    const profile_settings *settings;
    cli_setup setup;
    cli_limit limit;
    cli_subject subject;
    cli_progress progress;
    size_t steps;
    cli_samples *samples; /* one per step */
    cli_statistics *time; /* one per step */
    cli_samples total;    /* sums over all steps, one per run */
    double sum;           /* sum of the steps' medians */
    cli_statistics run;   /* statistics of `total` */
    double disturbance;   /* share of the machine that other work took */
} profile;

static bool run_once(profile *p, bool counted, cli_failure *failure)
{
    if (!cli_subject_run(&p->subject, failure)) {
        return false;
    }
    double total = 0;
    for (size_t i = 0; counted && i < p->steps; i++) {
        const double seconds = rynd_session_step_time(p->subject.session, i);
        total += seconds;
        if (!cli_samples_add(&p->samples[i], seconds)) {
            return cli_fail_memory(failure);
        }
    }
    return !counted || cli_samples_add(&p->total, total) || cli_fail_memory(failure);
}

static bool measure(profile *p, cli_failure *failure)
{
    const profile_settings *s = p->settings;
    if (rynd_session_profile(p->subject.session, 1) != RYND_OK) {
        return cli_fail_library(failure);
    }
    for (int64_t i = 0; i < s->warmup; i++) {
        if (!run_once(p, false, failure)) {
            return false;
        }
    }
    rynd_competition others = RYND_SIZED(rynd_competition);
    if (rynd_competition_begin(&others) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const double begin = cli_now();
    for (int64_t i = 0; i < s->rounds || cli_now() - begin < s->min_time; i++) {
        if (!run_once(p, true, failure)) {
            return false;
        }
        const double by_time = s->min_time > 0 ? (cli_now() - begin) / s->min_time : 1,
                     by_rounds = (double)(i + 1) / (double)s->rounds;
        cli_progress_show(&p->progress, p->subject.name, by_time < by_rounds ? by_time : by_rounds);
    }
    p->disturbance = rynd_competition_since(&others);
    return true;
}

static void sum_up(profile *p)
{
    for (size_t i = 0; i < p->steps; i++) {
        p->time[i] = cli_samples_statistics(&p->samples[i]);
        p->sum += p->time[i].median;
    }
    p->run = cli_samples_statistics(&p->total);
}

typedef struct row {
    rynd_step_info step;
    rynd_prediction prediction;
    double share, limit; /* limit: of the time; 0: none */
} row;

static bool get_row(const profile *p, size_t i, row *r, cli_failure *failure)
{
    *r = (row){.step = RYND_SIZED(rynd_step_info), .prediction = RYND_SIZED(rynd_prediction)};
    if (rynd_plan_get_step(p->setup.plan, i, &r->step) != RYND_OK ||
        rynd_plan_predict_step(p->setup.plan, i, &r->prediction) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const double limit =
        p->settings->common.accuracy > RYND_ACCURACY_NEAR32 ? 0 : cli_limit_of(&p->limit, &r->step);
    r->share = p->sum > 0 ? p->time[i].median / p->sum : 0;
    r->limit = limit > 0 && p->time[i].median > 0 ? limit / p->time[i].median : 0;
    return true;
}

static bool print_text(const profile *p, cli_failure *failure)
{
    static const char *const head[] = {"step",  "op", "kernel",    "time",    "quiet",
                                       "share", "cv", "predicted", "Gflop/s", "of limit"};
    cli_table table;
    bool done = true;
    cli_table_begin(&table, "lllrrrrrrr", head);
    for (size_t i = 0; done && i < p->steps; i++) {
        row r;
        done = get_row(p, i, &r, failure);
        if (done) {
            const cli_statistics *t = &p->time[i];
            const double seconds = t->median > 0 ? t->median : 1;
            cli_table_add(&table, "%s", r.step.name);
            cli_table_add(&table, "%s", r.step.op);
            cli_table_add(&table, "%s", r.step.kernel);
            cli_table_add(&table, "%s", cli_word_seconds(t->median).text);
            cli_table_add(&table, "%s", cli_word_seconds(t->quiet).text);
            cli_table_add(&table, "%.1f%%", 100 * r.share);
            cli_table_add(&table, "%.0f%%", t->mean > 0 ? 100 * sqrt(t->variance) / t->mean : 0);
            cli_table_add(&table, "%s", cli_word_seconds(r.prediction.median).text);
            cli_table_add(&table, "%.1f", r.step.flop / seconds * 1e-9);
            cli_table_add(&table, r.limit > 0 ? "%.0f%%" : "-", 100 * r.limit);
        }
    }
    const bool printed = cli_table_print(&table, done ? stdout : NULL);
    if (done && !printed) {
        return cli_fail_memory(failure);
    }
    rynd_prediction all = RYND_SIZED(rynd_prediction);
    if (done && rynd_plan_predict(p->setup.plan, &all) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (done) {
        printf("\n%zu runs: median %s, quiet %s, min %s, max %s, disturbed %.0f%%; predicted %s "
               "(90%%: %s to %s)\n",
               p->run.n, cli_word_seconds(p->run.median).text, cli_word_seconds(p->run.quiet).text,
               cli_word_seconds(p->run.min).text, cli_word_seconds(p->run.max).text,
               100 * p->disturbance, cli_word_seconds(all.median).text,
               cli_word_seconds(all.low).text, cli_word_seconds(all.high).text);
    }
    return done;
}

static void add_statistics(cJSON *object, const cli_statistics *s)
{
    cli_json_number(object, "n", (double)s->n);
    cli_json_number(object, "mean", s->mean);
    cli_json_number(object, "variance", s->variance);
    cli_json_number(object, "quiet", s->quiet);
    cli_json_number(object, "min", s->min);
    cli_json_number(object, "max", s->max);
}

static bool add_nodes(const profile *p, cJSON *nodes, cli_failure *failure)
{
    for (size_t i = 0; i < p->steps; i++) {
        row r;
        if (!get_row(p, i, &r, failure)) {
            return false;
        }
        cJSON *node = cli_json_object_in(nodes);
        cli_json_text(node, "name", r.step.name);
        cli_json_text(node, "op", r.step.op);
        cli_json_text(node, "kernel", r.step.kernel);
        cli_json_text(node, "knobs", r.step.knobs);
        cli_json_text(node, "problem", r.step.problem);
        cli_json_number(node, "time", p->time[i].median);
        add_statistics(node, &p->time[i]);
        cli_json_number(node, "share", r.share);
        cli_json_number(node, "flop", r.step.flop);
        cli_json_number(node, "bytes", r.step.bytes);
        cJSON_AddItemToObject(node, "limit_fraction",
                              r.limit > 0 ? cJSON_CreateNumber(r.limit) : cJSON_CreateNull());
        cli_json_number(node, "predicted", r.prediction.median);
        cli_json_number(node, "predicted_low", r.prediction.low);
        cli_json_number(node, "predicted_high", r.prediction.high);
    }
    return true;
}

static bool print_json(const profile *p, cli_failure *failure)
{
    rynd_prediction all = RYND_SIZED(rynd_prediction);
    if (rynd_plan_predict(p->setup.plan, &all) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cJSON *results, *document = cli_json_begin("profile", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", p->subject.name);
    if (!add_nodes(p, cJSON_AddArrayToObject(result, "nodes"), failure)) {
        cJSON_Delete(document);
        return false;
    }
    cli_json_number(result, "total", p->run.median);
    add_statistics(result, &p->run);
    cli_json_number(result, "disturbance", p->disturbance);
    cli_json_number(result, "predicted", all.median);
    cli_json_number(result, "predicted_low", all.low);
    cli_json_number(result, "predicted_high", all.high);
    return cli_json_print(document, failure);
}

/* Complete events of the Trace Event Format, one after another, in microseconds. */
static char *trace_text(const profile *p, cli_failure *failure)
{
    cJSON *document = cli_json_document(),
          *events = cJSON_AddArrayToObject(document, "traceEvents");
    double begin = 0;
    for (size_t i = 0; i < p->steps; i++) {
        row r;
        if (!get_row(p, i, &r, failure)) {
            cJSON_Delete(document);
            return NULL;
        }
        cJSON *event = cli_json_object_in(events);
        cli_json_text(event, "name", r.step.name);
        cli_json_text(event, "cat", r.step.op);
        cli_json_text(event, "ph", "X");
        cli_json_number(event, "ts", 1e6 * begin);
        cli_json_number(event, "dur", 1e6 * p->time[i].median);
        cli_json_number(event, "pid", 1);
        cli_json_number(event, "tid", 1);
        cJSON *args = cJSON_AddObjectToObject(event, "args");
        cli_json_text(args, "kernel", r.step.kernel);
        cli_json_text(args, "knobs", r.step.knobs);
        cli_json_text(args, "problem", r.step.problem);
        cli_json_number(args, "predicted", r.prediction.median);
        begin += p->time[i].median;
    }
    return cli_json_write(document, false, failure);
}

static bool write_trace(const profile *p, cli_failure *failure)
{
    char *text = trace_text(p, failure);
    const bool done = text && cli_file_write(p->settings->trace, text, strlen(text), failure);
    free(text);
    return done;
}

static bool profile_model(profile *p, cli_failure *failure)
{
    const cli_common *common = &p->settings->common;
    if (!cli_setup_context(&p->setup, common, failure) ||
        !cli_limit_open(&p->limit, p->setup.context, common, failure) ||
        !cli_subject_open(&p->subject, &p->setup, common, common->arguments.items[0], false,
                          failure)) {
        return false;
    }
    p->steps = rynd_plan_step_count(p->setup.plan);
    p->samples = calloc(p->steps + 1, sizeof *p->samples);
    p->time = calloc(p->steps + 1, sizeof *p->time);
    if (!p->samples || !p->time) {
        return cli_fail_memory(failure);
    }
    cli_progress_begin(&p->progress, common);
    const bool done = measure(p, failure);
    cli_progress_end(&p->progress);
    if (!done) {
        return false;
    }
    sum_up(p);
    return (!p->settings->trace || write_trace(p, failure)) &&
           (common->json ? print_json(p, failure) : print_text(p, failure));
}

static bool run(void *settings, cli_failure *failure)
{
    profile p = {.settings = settings};
    const char *name = p.settings->common.arguments.items[0];
    if (cli_is_problem(name)) {
        return cli_fail_usage(failure,
                              "profile takes a model's file; 'rynd bench' times a problem");
    }
    const bool done = profile_model(&p, failure);
    for (size_t i = 0; p.samples && i < p.steps; i++) {
        cli_samples_free(&p.samples[i]);
    }
    cli_samples_free(&p.total);
    free(p.samples);
    free(p.time);
    cli_subject_close(&p.subject);
    cli_setup_close(&p.setup);
    return done;
}

const cli_command cli_command_profile = {
    .name = "profile",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "measure each step of a model",
    .text = "Runs the model on random inputs. Prints for each step the median and the quiet time "
            "(first quartile), its share, and its coefficient of variation (cv). Beside them: the "
            "predicted time, and the fraction of the machine's roofline limit (`rynd devices`). "
            "disturbed: share of the machine that other work took meanwhile.",
    .examples = "rynd profile model.onnx\n"
                "rynd profile model.onnx --batch 8 --trace trace.json",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(profile_settings),
    .defaults = &defaults,
    .run = run,
};
