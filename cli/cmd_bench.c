/* SPDX-License-Identifier: Apache-2.0 */
/* rynd bench: times models and problems. */
#include "bench_subject.h"
#include "commands.h"
#include "json_out.h"
#include "limit.h"
#include "progress.h"
#include "statistics.h"
#include "steps.h"
#include "table.h"
#include "wording.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct bench_settings {
    cli_common common;
    double min_time;
    int64_t rounds, warmup;
    bool gradient;
} bench_settings;

static const bench_settings defaults = {.min_time = 0.5, .rounds = 5, .warmup = 2};

#define OFFSET(field) offsetof(bench_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"min-time", 0, CLI_NUMBER, "S", NULL, 0, 86400, OFFSET(min_time),
     "run each for at least S seconds (default 0.5)"},
    {"rounds", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(rounds),
     "run each at least N times (default 5)"},
    {"warmup", 0, CLI_INTEGER, "N", NULL, 0, 1e9, OFFSET(warmup),
     "untimed runs before (default 2)"},
    {"gradient", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(gradient),
     "time the gradients of expr problems"},
    {0},
};
/* clang-format on */

typedef struct bench {
    const bench_settings *settings;
    cli_setup setup;
    cli_limit limit;
    cli_progress progress;
    cJSON *document, *results;
    cli_table table, models;
} bench;

/* Returns the roofline limit in seconds, summed over the steps; 0: unknown. */
static double subject_limit(const bench *b, const cli_subject *subject)
{
    const cli_steps steps = cli_steps_of(b->setup.plan, subject->op);
    int accuracy = b->settings->common.accuracy;
    if (accuracy > RYND_ACCURACY_NEAR32) {
        return 0;
    }
    double limit = 0;
    for (size_t i = 0; i < cli_steps_count(&steps); i++) {
        rynd_step_info step;
        cli_failure ignored = {0};
        if (!cli_steps_get(&steps, i, &step, &ignored)) {
            return 0;
        }
        const double seconds = cli_limit_of(&b->limit, &step);
        if (seconds < 0) {
            return 0;
        }
        limit += seconds;
    }
    return limit;
}

static bool measure(bench *b, cli_subject *subject, cli_samples *samples, double *disturbance,
                    cli_failure *failure)
{
    for (int64_t i = 0; i < b->settings->warmup; i++) {
        if (!cli_subject_run(subject, failure)) {
            return false;
        }
    }
    rynd_competition others = RYND_SIZED(rynd_competition);
    if (rynd_competition_begin(&others) != RYND_OK) {
        return cli_fail_library(failure);
    }
    double first = cli_now(), begin = first;
    for (int64_t i = 0; i < b->settings->rounds || begin - first < b->settings->min_time; i++) {
        if (!cli_subject_run(subject, failure)) {
            return false;
        }
        double end = cli_now();
        if (!cli_samples_add(samples, end - begin)) {
            return cli_fail_memory(failure);
        }
        double by_time = b->settings->min_time > 0 ? (end - first) / b->settings->min_time : 1;
        double by_rounds = (double)(i + 1) / (double)b->settings->rounds;
        cli_progress_show(&b->progress, subject->name, by_time < by_rounds ? by_time : by_rounds);
        /* What showing took belongs to no run. */
        begin = b->progress.shown ? cli_now() : end;
    }
    const cli_statistics s = cli_samples_statistics(samples);
    *disturbance = rynd_disturbance_since(&others, s.min, s.mean);
    return true;
}

/* What is printed of one subject. */
typedef struct outcome {
    cli_statistics time;
    double limit_fraction; /* 0: none */
    double peak_memory;
    double disturbance; /* rynd_disturbance_since */
} outcome;

static void add_json(bench *b, const cli_subject *subject, const outcome *o)
{
    const cli_statistics *s = &o->time;
    cJSON *object = cli_json_object_in(b->results);
    cli_json_text(object, "name", subject->name);
    cli_json_number(object, "n", (double)s->n);
    cli_json_number(object, "mean", s->mean);
    cli_json_number(object, "variance", s->variance);
    cli_json_number(object, "median", s->median);
    cli_json_number(object, "quiet", s->quiet);
    cli_json_number(object, "disturbance", o->disturbance);
    cli_json_number(object, "min", s->min);
    cli_json_number(object, "max", s->max);
    cli_json_number(object, "flop", subject->flop);
    cli_json_number(object, "bytes", subject->bytes);
    cli_json_text(object, "kernel", subject->kernel);
    cJSON_AddItemToObject(object, "limit_fraction",
                          o->limit_fraction > 0 ? cJSON_CreateNumber(o->limit_fraction)
                                                : cJSON_CreateNull());
    if (!subject->op) {
        cli_json_number(object, "planning_seconds", rynd_plan_planning_seconds(b->setup.plan));
        cli_json_number(object, "load_time", b->setup.load_time);
        cli_json_number(object, "peak_memory", o->peak_memory);
    }
}

static void add_text(bench *b, const cli_subject *subject, const outcome *o)
{
    const cli_statistics *s = &o->time;
    cli_table_add(&b->table, "%s", subject->name);
    cli_table_add(&b->table, "%zu", s->n);
    const double seconds[] = {s->median, s->quiet, s->min, s->max};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        cli_table_add(&b->table, "%s", cli_word_seconds(seconds[i]).text);
    }
    cli_table_add(&b->table, "%.0f%%", 100 * o->disturbance);
    cli_table_add(&b->table, "%.1f", s->median > 0 ? subject->flop / s->median * 1e-9 : 0);
    cli_table_add(&b->table, o->limit_fraction > 0 ? "%.0f%%" : "-", 100 * o->limit_fraction);
    cli_table_add(&b->table, "%s", subject->op ? subject->kernel : "");
    cli_table_add(&b->table, "%s", cli_word_seconds(s->mean).text);
    cli_table_add(&b->table, "%.2e s2", s->variance);
    if (!subject->op) {
        cli_table_add(&b->models, "%s", subject->name);
        cli_table_add(&b->models, "%s", cli_word_seconds(b->setup.load_time).text);
        cli_table_add(&b->models, "%s",
                      cli_word_seconds(rynd_plan_planning_seconds(b->setup.plan)).text);
        cli_table_add(&b->models, "%s", cli_word_bytes(o->peak_memory).text);
    }
}

static bool bench_one(bench *b, const char *name, cli_failure *failure)
{
    cli_subject subject;
    cli_samples samples = {0};
    double disturbance = 0;
    cli_peak_memory_reset();
    bool done = cli_subject_open(&subject, &b->setup, &b->settings->common, name,
                                 b->settings->gradient, failure) &&
                measure(b, &subject, &samples, &disturbance, failure);
    outcome o = {.time = cli_samples_statistics(&samples),
                 .peak_memory = cli_peak_memory(),
                 .disturbance = disturbance};
    if (done) {
        o.limit_fraction = o.time.median > 0 ? subject_limit(b, &subject) / o.time.median : 0;
        if (b->settings->common.json) {
            add_json(b, &subject, &o);
        } else {
            add_text(b, &subject, &o);
        }
    }
    cli_samples_free(&samples);
    cli_subject_close(&subject);
    cli_setup_close_model(&b->setup);
    return done;
}

static bool bench_all(bench *b, cli_failure *failure)
{
    const cli_common *common = &b->settings->common;
    if (!cli_setup_context(&b->setup, common, failure) ||
        !cli_limit_open(&b->limit, b->setup.context, common, failure)) {
        return false;
    }
    for (size_t i = 0; i < common->arguments.count; i++) {
        if (!bench_one(b, common->arguments.items[i], failure)) {
            return false;
        }
    }
    return true;
}

/* Prints what was measured before a failure, too. A head alone is not printed. */
static bool print_tables(bench *b)
{
    const bool rows = b->table.count > b->table.columns,
               models = b->models.count > b->models.columns;
    bool printed = cli_table_print(&b->table, rows ? stdout : NULL);
    if (models) {
        putchar('\n');
    }
    return cli_table_print(&b->models, models ? stdout : NULL) && printed;
}

static bool run(void *data, cli_failure *failure)
{
    static const char *const head[] = {"name",     "n",      "median",    "quiet",
                                       "min",      "max",    "disturbed", "Gflop/s",
                                       "of limit", "kernel", "mean",      "variance"};
    static const char *const model_head[] = {"model", "load", "plan", "peak memory"};
    bench b = {.settings = data};
    bool json = b.settings->common.json;
    if (json) {
        b.document = cli_json_begin("bench", &b.results);
    } else {
        cli_table_begin(&b.table, "lrrrRRrrrLRR", head);
        cli_table_begin(&b.models, "lrrr", model_head);
    }
    cli_progress_begin(&b.progress, &b.settings->common);
    bool done = bench_all(&b, failure);
    cli_progress_end(&b.progress);
    if (json && done) {
        done = cli_json_print(b.document, failure);
    } else if (json) {
        cJSON_Delete(b.document);
    } else {
        const bool printed = print_tables(&b);
        done = done && (printed || cli_fail_memory(failure));
    }
    cli_setup_close(&b.setup);
    return done;
}

const cli_command cli_command_bench = {
    .name = "bench",
    .arguments = "MODEL|'PROBLEM'...",
    .least = 1,
    .most = SIZE_MAX,
    .help = "time models and problems on random inputs",
    .text =
        "quiet: first quartile of the times, for a machine with other work. disturbed: share of "
        "all processors' time that other work took during the runs, or that their mean lost "
        "against the best, if more.\n"
        "Gflop/s counts the operations of the definition over the median time. The limit is the "
        "roofline of each step: the machine's peak (for Winograd forms, of their fewer "
        "operations) or bandwidth (`rynd devices`), whichever takes longer.\n"
        "A problem is text like 'conv n=1 c=64 h=56 w=56 k=64 r=3 s=3 pad=1'. Weights of a "
        "convolution are packed before the timing, as in a model.",
    .examples = "rynd bench model.onnx --rounds 20\n"
                "rynd bench 'conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1' 'conv c=64 h=56 w=56 k=64'",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(bench_settings),
    .defaults = &defaults,
    .run = run,
};
