/* SPDX-License-Identifier: Apache-2.0 */
/* rynd profile: where the time of a model goes, step by step, beside what was predicted. */
#include "bench_subject.h"
#include "commands.h"
#include "model_facts.h"
#include "output_file.h"
#include "profile.h"
#include "progress.h"
#include "run_inputs.h"

#include <stdlib.h>

static const cli_profile_settings defaults = {.min_time = 0.5, .rounds = 10, .warmup = 2};

#define OFFSET(field) offsetof(cli_profile_settings, field)

/* clang-format off */
static const cli_option options[] = {
    CLI_TITLE("runs"),
    {"input", 'i', CLI_LIST, "[NAME=]FILE", NULL, 0, 0, OFFSET(inputs),
     "run on this file, as `rynd run` reads it; repeat for more inputs (default: random numbers)"},
    {"min-time", 0, CLI_NUMBER, "S", NULL, 0, 86400, OFFSET(min_time),
     "run for at least S seconds (default 0.5)"},
    {"rounds", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(rounds),
     "run at least N times (default 10)"},
    {"warmup", 0, CLI_INTEGER, "N", NULL, 0, 1e9, OFFSET(warmup),
     "untimed runs before (default 2)"},
    CLI_TITLE("report"),
    {"by", 0, CLI_CHOICE, "WHAT", "operator|kernel", 0, 0, OFFSET(by),
     "print sums over all steps of an operator or a kernel"},
    {"sort", 0, CLI_CHOICE, "ORDER", "plan|time|predicted|excess|limit|name", 0, 0, OFFSET(sort),
     "order of rows: largest time, predicted time, time beyond the prediction or beyond the limit first (default: the "
     "plan's; with --by time)"},
    {"trace", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(trace),
     "write one run, the fastest of seven, as a trace for chrome://tracing or ui.perfetto.dev, with a track for each thread"},
    {"html", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(html),
     "write a page with roofline, time line, memory, graph and table; it needs no network"},
    CLI_PREPROCESS_OPTIONS(OFFSET(preprocess)),
    {0},
};
/* clang-format on */

typedef struct work {
    cli_profile_settings *settings;
    cli_setup setup;
    cli_limit limit;
    cli_subject subject;
    cli_inputs inputs;
    cli_progress progress;
    cli_samples *samples; /* one per step */
    cli_samples total;    /* sums over all steps, one per run; with a rest, times of runs */
    cli_samples rest;     /* run times beyond the steps */
    cli_profile profile;
} work;

static bool run_once(work *w, bool counted, cli_failure *failure)
{
    const double begin = cli_now();
    if (!cli_subject_run(&w->subject, failure)) {
        return false;
    }
    const double elapsed = cli_now() - begin;
    double total = 0;
    for (size_t i = 0; counted && i < w->profile.count; i++) {
        const double seconds = rynd_session_step_time(w->subject.session, i);
        total += seconds;
        if (!cli_samples_add(&w->samples[i], seconds)) {
            return cli_fail_memory(failure);
        }
    }
    if (!counted) {
        return true;
    }
    const bool whole = rynd_plan_complete(w->setup.plan);
    return (cli_samples_add(&w->total, whole ? total : elapsed) &&
            cli_samples_add(&w->rest, whole || elapsed < total ? 0 : elapsed - total)) ||
           cli_fail_memory(failure);
}

/* Keeps the spans of the session's last run. */
static bool keep_spans(work *w, cli_failure *failure)
{
    const rynd_session *session = w->subject.session;
    cli_profile *p = &w->profile;
    const size_t count = rynd_session_span_count(session);
    rynd_span *spans = realloc(p->spans, (count + 1) * sizeof *spans);
    if (!spans) {
        return cli_fail_memory(failure);
    }
    p->spans = spans;
    for (p->span_count = 0; p->span_count < count; p->span_count++) {
        spans[p->span_count] = RYND_SIZED(rynd_span);
        if (rynd_session_get_span(session, p->span_count, &spans[p->span_count]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

/* Traces the fastest of a few runs, after those that are timed: tracing costs time. */
static bool run_traced(work *w, cli_failure *failure)
{
    enum { RUNS = 7 };
    if (!w->settings->trace && !w->settings->html) {
        return true;
    }
    if (rynd_session_trace(w->subject.session, 1) != RYND_OK) {
        return cli_fail_library(failure);
    }
    double fastest = 0;
    for (int i = 0; i < RUNS; i++) {
        const double begin = cli_now();
        if (!run_once(w, false, failure)) {
            return false;
        }
        const double seconds = cli_now() - begin;
        if (i == 0 || seconds < fastest) {
            fastest = seconds;
            if (!keep_spans(w, failure)) {
                return false;
            }
        }
    }
    return true;
}

static bool measure(work *w, cli_failure *failure)
{
    const cli_profile_settings *s = w->settings;
    if (rynd_session_profile(w->subject.session, 1) != RYND_OK) {
        return cli_fail_library(failure);
    }
    for (int64_t i = 0; i < s->warmup; i++) {
        if (!run_once(w, false, failure)) {
            return false;
        }
    }
    rynd_competition others = RYND_SIZED(rynd_competition);
    if (rynd_competition_begin(&others) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const double begin = cli_now();
    for (int64_t i = 0; i < s->rounds || cli_now() - begin < s->min_time; i++) {
        if (!run_once(w, true, failure)) {
            return false;
        }
        const double by_time = s->min_time > 0 ? (cli_now() - begin) / s->min_time : 1,
                     by_rounds = (double)(i + 1) / (double)s->rounds;
        cli_progress_show(&w->progress, w->subject.name, by_time < by_rounds ? by_time : by_rounds);
    }
    const cli_statistics total = cli_samples_statistics(&w->total);
    w->profile.disturbance = rynd_disturbance_since(&others, total.min, total.mean);
    return run_traced(w, failure);
}

static bool fill_row(const work *w, size_t i, cli_profile_row *row, cli_failure *failure)
{
    *row = (cli_profile_row){.step = RYND_SIZED(rynd_step_info),
                             .steps = 1,
                             .time = cli_samples_statistics(&w->samples[i]),
                             .predicted = RYND_SIZED(rynd_prediction)};
    if (rynd_plan_get_step(w->setup.plan, i, &row->step) != RYND_OK ||
        rynd_plan_predict_step(w->setup.plan, i, &row->predicted) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const double limit = w->settings->common.accuracy > RYND_ACCURACY_NEAR32
                             ? 0
                             : cli_limit_of(&w->limit, &row->step);
    row->limit = limit > 0 ? limit : 0;
    row->seconds = row->time.median;
    return true;
}

static bool sum_up(work *w, cli_failure *failure)
{
    cli_profile *p = &w->profile;
    double sum = 0;
    for (size_t i = 0; i < p->count; i++) {
        if (!fill_row(w, i, &p->rows[i], failure)) {
            return false;
        }
        sum += p->rows[i].seconds;
    }
    for (size_t i = 0; i < p->count; i++) {
        p->rows[i].share = sum > 0 ? p->rows[i].seconds / sum : 0;
    }
    p->run = cli_samples_statistics(&w->total);
    p->rest = cli_samples_statistics(&w->rest).median;
    p->predicted = RYND_SIZED(rynd_prediction);
    return rynd_plan_predict(w->setup.plan, &p->predicted) == RYND_OK || cli_fail_library(failure);
}

/* On the files of --input, or on random numbers. */
static bool open_subject(work *w, cli_failure *failure)
{
    cli_profile_settings *s = w->settings;
    const char *path = s->common.arguments.items[0];
    w->subject = (cli_subject){.name = path};
    if (!cli_setup_model(&w->setup, path, failure) ||
        !cli_facts_preprocess(w->setup.model, &s->common, &s->preprocess, failure)) {
        return false;
    }
    cli_preprocess_settle(&s->preprocess);
    if (s->inputs.count > 0) {
        const cli_run_settings given = {
            .common = s->common, .inputs = s->inputs, .preprocess = s->preprocess};
        if (!cli_inputs_open(&w->inputs, &w->setup, &given, failure)) {
            return false;
        }
    }
    return cli_subject_open_loaded(&w->subject, &w->setup, &s->common, w->inputs.views, failure);
}

static bool report(const work *w, cli_failure *failure)
{
    const cli_profile_settings *s = w->settings;
    const cli_profile *p = &w->profile;
    return (!s->trace || cli_profile_write_trace(p, s->trace, failure)) &&
           (!s->html || cli_profile_write_page(p, &w->limit, s->html, failure)) &&
           (s->common.json ? cli_profile_print_json(p, failure) : cli_profile_print(p, s, failure));
}

static bool profile_model(work *w, cli_failure *failure)
{
    const cli_common *common = &w->settings->common;
    if (!cli_setup_context(&w->setup, common, failure) ||
        !cli_limit_open(&w->limit, w->setup.context, common, failure) ||
        !open_subject(w, failure)) {
        return false;
    }
    w->profile = (cli_profile){
        .name = w->subject.name, .setup = &w->setup, .count = rynd_plan_step_count(w->setup.plan)};
    w->samples = calloc(w->profile.count + 1, sizeof *w->samples);
    w->profile.rows = calloc(w->profile.count + 1, sizeof *w->profile.rows);
    if (!w->samples || !w->profile.rows) {
        return cli_fail_memory(failure);
    }
    cli_progress_begin(&w->progress, common);
    const bool done = measure(w, failure);
    cli_progress_end(&w->progress);
    return done && sum_up(w, failure) && report(w, failure);
}

static bool check_files(const cli_profile_settings *s, cli_failure *failure)
{
    return (!s->trace || cli_file_check_writable(s->trace, failure)) &&
           (!s->html || cli_file_check_writable(s->html, failure));
}

static bool run(void *settings, cli_failure *failure)
{
    work w = {.settings = settings};
    if (cli_is_problem(w.settings->common.arguments.items[0])) {
        return cli_fail_usage(failure,
                              "profile takes a model's file; 'rynd bench' times a problem");
    }
    const bool done = check_files(w.settings, failure) && profile_model(&w, failure);
    for (size_t i = 0; w.samples && i < w.profile.count; i++) {
        cli_samples_free(&w.samples[i]);
    }
    cli_samples_free(&w.total);
    cli_samples_free(&w.rest);
    free(w.samples);
    free(w.profile.rows);
    free(w.profile.spans);
    cli_subject_close(&w.subject);
    cli_inputs_free(&w.inputs);
    cli_setup_close(&w.setup);
    return done;
}

const cli_command cli_command_profile = {
    .name = "profile",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "measure each step of a model",
    .text = "Runs the model, on files or on random numbers. Prints for each step the median and "
            "the quiet time (first quartile), its share, and its coefficient of variation (cv). "
            "Beside them: the predicted time, and the fraction of the machine's roofline limit "
            "(`rynd devices`). disturbed: share of the machine that other work took, or that the "
            "runs lost against the "
            "best.",
    .examples = "rynd profile model.onnx -i photo.jpg --preset imagenet --by operator\n"
                "rynd profile model.onnx --batch 8 --html profile.html",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(cli_profile_settings),
    .defaults = &defaults,
    .run = run,
};
