/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles as JSON, as a trace, and as a page. */
#include "json_out.h"
#include "output_file.h"
#include "page.h"
#include "profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void add_statistics(cJSON *object, const cli_statistics *s)
{
    cli_json_number(object, "n", (double)s->n);
    cli_json_number(object, "mean", s->mean);
    cli_json_number(object, "variance", s->variance);
    cli_json_number(object, "quiet", s->quiet);
    cli_json_number(object, "min", s->min);
    cli_json_number(object, "max", s->max);
}

static void add_node(cJSON *nodes, const cli_profile_row *row)
{
    cJSON *node = cli_json_object_in(nodes);
    const double limit = cli_profile_limit_fraction(row);
    cli_json_text(node, "name", row->step.name);
    cli_json_text(node, "op", row->step.op);
    cli_json_text(node, "kernel", row->step.kernel);
    cli_json_text(node, "knobs", row->step.knobs);
    cli_json_text(node, "problem", row->step.problem);
    cli_json_number(node, "time", row->seconds);
    add_statistics(node, &row->time);
    cli_json_number(node, "share", row->share);
    cli_json_number(node, "flop", row->step.flop);
    cli_json_number(node, "bytes", row->step.bytes);
    cJSON_AddItemToObject(node, "limit_fraction",
                          limit > 0 ? cJSON_CreateNumber(limit) : cJSON_CreateNull());
    cli_json_number(node, "predicted", row->predicted.median);
    cli_json_number(node, "predicted_low", row->predicted.low);
    cli_json_number(node, "predicted_high", row->predicted.high);
}

bool cli_profile_print_json(const cli_profile *p, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("profile", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", p->name);
    cJSON *nodes = cJSON_AddArrayToObject(result, "nodes");
    for (size_t i = 0; i < p->count; i++) {
        add_node(nodes, &p->rows[i]);
    }
    cli_json_number(result, "total", p->run.median);
    add_statistics(result, &p->run);
    cli_json_number(result, "rest", p->rest);
    cli_json_number(result, "disturbance", p->disturbance);
    cli_json_number(result, "predicted", p->predicted.median);
    cli_json_number(result, "predicted_low", p->predicted.low);
    cli_json_number(result, "predicted_high", p->predicted.high);
    return cli_json_print(document, failure);
}

/* The name of a thread's track. */
static void add_track(cJSON *events, unsigned thread)
{
    char name[40];
    snprintf(name, sizeof name, "thread %u%s", thread, thread ? "" : " (caller)");
    cJSON *event = cli_json_object_in(events);
    cli_json_text(event, "name", "thread_name");
    cli_json_text(event, "ph", "M");
    cli_json_number(event, "pid", 1);
    cli_json_number(event, "tid", thread);
    cli_json_text(cJSON_AddObjectToObject(event, "args"), "name", name);
}

/* A complete event of the Trace Event Format, in microseconds. */
static void add_event(cJSON *events, const cli_profile_row *row, const rynd_span *span)
{
    cJSON *event = cli_json_object_in(events);
    cli_json_text(event, "name", row->step.name);
    cli_json_text(event, "cat", row->step.op);
    cli_json_text(event, "ph", "X");
    cli_json_number(event, "ts", 1e6 * span->begin);
    cli_json_number(event, "dur", 1e6 * (span->end - span->begin));
    cli_json_number(event, "pid", 1);
    cli_json_number(event, "tid", span->thread);
    cJSON *args = cJSON_AddObjectToObject(event, "args");
    cli_json_text(args, "kernel", row->step.kernel);
    cli_json_text(args, "knobs", row->step.knobs);
    cli_json_text(args, "problem", row->step.problem);
    cli_json_number(args, "tasks", (double)span->tasks);
    cli_json_number(args, "median", row->seconds);
    cli_json_number(args, "predicted", row->predicted.median);
}

/* Steps that depend on data come last; their median stands for them. */
static void add_rest(cJSON *events, const cli_profile *p)
{
    double begin = 0;
    for (size_t i = 0; i < p->span_count; i++) {
        begin = p->spans[i].end > begin ? p->spans[i].end : begin;
    }
    cJSON *event = cli_json_object_in(events);
    cli_json_text(event, "name", "steps that depend on data");
    cli_json_text(event, "cat", "rest");
    cli_json_text(event, "ph", "X");
    cli_json_number(event, "ts", 1e6 * begin);
    cli_json_number(event, "dur", 1e6 * p->rest);
    cli_json_number(event, "pid", 1);
    cli_json_number(event, "tid", 0);
}

bool cli_profile_write_trace(const cli_profile *p, const char *path, cli_failure *failure)
{
    cJSON *document = cli_json_document(),
          *events = cJSON_AddArrayToObject(document, "traceEvents");
    unsigned threads = 0;
    for (size_t i = 0; i < p->span_count; i++) {
        for (; threads <= p->spans[i].thread; threads++) {
            add_track(events, threads);
        }
        add_event(events, &p->rows[p->spans[i].step], &p->spans[i]);
    }
    if (p->rest > 0) {
        add_rest(events, p);
    }
    char *text = cli_json_write(document, false, failure);
    const bool done = text && cli_file_write(path, text, strlen(text), failure);
    free(text);
    return done;
}

static void add_time(cJSON *object, const char *key, const cli_statistics *s)
{
    cJSON *time = cJSON_AddObjectToObject(object, key);
    cli_json_number(time, "median", s->median);
    cli_json_number(time, "cv", s->mean > 0 ? sqrt(s->variance) / s->mean : 0);
    add_statistics(time, s);
}

/* Spans as arrays of numbers: step, thread, begin, end, tasks. */
static void add_spans(const cli_profile *p, cJSON *data)
{
    cJSON *spans = cJSON_AddArrayToObject(data, "spans");
    for (size_t i = 0; i < p->span_count; i++) {
        const rynd_span *span = &p->spans[i];
        const double values[] = {(double)span->step, span->thread, span->begin, span->end,
                                 (double)span->tasks};
        cJSON_AddItemToArray(
            spans, cJSON_CreateDoubleArray(values, (int)(sizeof values / sizeof *values)));
    }
}

bool cli_profile_write_page(const cli_profile *p, const cli_limit *limit, const char *path,
                            cli_failure *failure)
{
    cJSON *data = cli_page_data(p->setup, limit, p->name, failure);
    if (!data) {
        return false;
    }
    cJSON_ReplaceItemInObject(data, "kind", cJSON_CreateString("profile"));
    add_time(data, "total", &p->run);
    cJSON *step = cJSON_GetObjectItem(data, "steps")->child;
    for (size_t i = 0; step && i < p->count; i++, step = step->next) {
        add_time(step, "time", &p->rows[i].time);
    }
    add_spans(p, data);
    return cli_page_write(data, path, failure);
}
