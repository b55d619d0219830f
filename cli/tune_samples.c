/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of CSV or of JSON Lines. */
#include "tune_samples.h"

#include "output_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Words of a convolution's text, with their defaults (docs/problems.md). */
static const struct {
    const char *name, *preset;
} fields[] = {
    {"n", "1"},        {"c", ""},         {"d", ""},        {"h", ""},          {"w", ""},
    {"k", ""},         {"t", "1"},        {"r", "1"},       {"s", "1"},         {"pad", "0"},
    {"stride", "1"},   {"dilation", "1"}, {"groups", "1"},  {"opad", "0"},      {"bias", "0"},
    {"residual", "0"}, {"act", "none"},   {"dtype", "f32"}, {"layout", "nchw"}, {"dir", "fwd"},
};
#define FIELDS (sizeof fields / sizeof *fields)

static const char columns[] = ",accuracy,kernel,knobs,verdict,untuned,weights,flop,bytes,tasks,"
                              "packed,workspace,predicted,samples,"
                              "mean,variance,median,min,max,energy,device,isa,threads\n";

static bool add(cli_tune_samples *s, cli_failure *failure, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static bool add(cli_tune_samples *s, cli_failure *failure, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    const int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    const size_t needed = s->used + (length > 0 ? (size_t)length : 0) + 1;
    if (needed > s->capacity) {
        const size_t capacity = needed > 2 * s->capacity ? needed + 4096 : 2 * s->capacity;
        char *grown = realloc(s->text, capacity);
        if (!grown) {
            va_end(again);
            return cli_fail_memory(failure);
        }
        s->text = grown;
        s->capacity = capacity;
    }
    vsnprintf(s->text + s->used, s->capacity - s->used, format, again);
    va_end(again);
    s->used = needed - 1;
    return true;
}

static bool ends_with(const char *text, const char *end)
{
    const size_t length = strlen(text), own = strlen(end);
    return length >= own && strcmp(text + length - own, end) == 0;
}

bool cli_tune_samples_begin(cli_tune_samples *samples, const char *path,
                            const rynd_context *context, cli_failure *failure)
{
    *samples = (cli_tune_samples){.path = path};
    if (!path) {
        return true;
    }
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    if (rynd_context_get_info(context, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    samples->lines = !ends_with(path, ".csv");
    if (samples->lines && !ends_with(path, ".jsonl") && !ends_with(path, ".json")) {
        return cli_fail_usage(failure, "--samples %s: give a name that ends with .csv or .jsonl",
                              path);
    }
    snprintf(samples->device, sizeof samples->device, "%s", info.device);
    snprintf(samples->isa, sizeof samples->isa, "%s", info.isa);
    samples->threads = info.threads;
    bool done = samples->lines || add(samples, failure, "problem,op");
    for (size_t i = 0; !samples->lines && done && i < FIELDS; i++) {
        done = add(samples, failure, ",%s", fields[i].name);
    }
    return done && (samples->lines || add(samples, failure, "%s", columns));
}

/* The value of a word of a problem's text, its length in *length; NULL: it is not there. */
static const char *value_of(const char *problem, const char *name, size_t *length)
{
    const size_t own = strlen(name);
    for (const char *at = strchr(problem, ' '); at; at = strchr(at + 1, ' ')) {
        if (strncmp(at + 1, name, own) == 0 && at[1 + own] == '=') {
            *length = strcspn(at + own + 2, " ");
            return at + own + 2;
        }
    }
    return NULL;
}

/* In its short form: the words mean what `fields` says. */
static bool is_convolution(const char *problem)
{
    size_t length;
    return (strncmp(problem, "conv ", 5) == 0 || strncmp(problem, "convt ", 6) == 0) &&
           value_of(problem, "k", &length);
}

/* What `name` is in a problem: its word, or the preset. */
static const char *field_of(const char *problem, size_t index, size_t *length)
{
    const char *value = value_of(problem, fields[index].name, length);
    if (!value) {
        value = fields[index].preset;
        *length = strlen(value);
    }
    return value;
}

/* In quotes, which are doubled inside (RFC 4180). */
static bool add_cell(cli_tune_samples *s, const char *text, size_t length, cli_failure *failure)
{
    bool done = add(s, failure, "\"");
    for (size_t i = 0; done && i < length; i++) {
        done = (text[i] != '"' || add(s, failure, "\"")) && add(s, failure, "%c", text[i]);
    }
    return done && add(s, failure, "\"");
}

static bool add_json_text(cli_tune_samples *s, const char *text, size_t length,
                          cli_failure *failure)
{
    char own[4096], quoted[4 * sizeof own];
    snprintf(own, sizeof own, "%.*s", (int)length, text);
    rynd_text_escape(own, RYND_ESCAPE_JSON, quoted, sizeof quoted);
    return add(s, failure, "%s", quoted);
}

static bool add_csv_problem(cli_tune_samples *s, const char *problem, cli_failure *failure)
{
    bool done = add_cell(s, problem, strlen(problem), failure) &&
                add(s, failure, ",%.*s", (int)strcspn(problem, " "), problem);
    for (size_t i = 0; done && i < FIELDS; i++) {
        size_t length = 0;
        const char *value = is_convolution(problem) ? field_of(problem, i, &length) : "";
        done = add(s, failure, ",") &&
               (memchr(value, ',', length) ? add_cell(s, value, length, failure)
                                           : add(s, failure, "%.*s", (int)length, value));
    }
    size_t length = strlen("near32");
    const char *accuracy = value_of(problem, "accuracy", &length);
    return done && add(s, failure, ",%.*s", (int)length, accuracy ? accuracy : "near32");
}

static bool add_json_problem(cli_tune_samples *s, const char *problem, cli_failure *failure)
{
    bool done = add(s, failure, "{\"problem\": ") &&
                add_json_text(s, problem, strlen(problem), failure) &&
                add(s, failure, ", \"op\": \"%.*s\"", (int)strcspn(problem, " "), problem);
    for (size_t i = 0; done && is_convolution(problem) && i < FIELDS; i++) {
        size_t length = 0;
        const char *value = field_of(problem, i, &length);
        const bool number = length > 0 && strspn(value, "0123456789") >= length;
        done = length == 0 || (add(s, failure, ", \"%s\": ", fields[i].name) &&
                               (number ? add(s, failure, "%.*s", (int)length, value)
                                       : add_json_text(s, value, length, failure)));
    }
    size_t length = strlen("near32");
    const char *accuracy = value_of(problem, "accuracy", &length);
    return done &&
           add(s, failure, ", \"accuracy\": \"%.*s\"", (int)length, accuracy ? accuracy : "near32");
}

static bool add_csv(cli_tune_samples *s, const rynd_tuned_problem *problem,
                    const rynd_tuned_form *form, bool untuned, cli_failure *failure)
{
    return add_csv_problem(s, problem->problem, failure) && add(s, failure, ",%s,", form->kernel) &&
           add_cell(s, form->knobs, strlen(form->knobs), failure) &&
           add(s, failure, ",%s,%d,%s,%.17g,%.17g,%zu,%zu,%zu,%.9g,%zu,%.9g,%.9g,%.9g,%.9g,%.9g",
               rynd_tuned_verdict_text(form->verdict), untuned, problem->cold ? "cold" : "warm",
               form->flop, form->bytes, form->tasks, form->packed, form->workspace, form->predicted,
               form->n, form->mean, form->variance, form->median, form->min, form->max) &&
           (form->joule > 0 ? add(s, failure, ",%.9g", form->joule) : add(s, failure, ",")) &&
           add(s, failure, ",%s,%s,%u\n", s->device, s->isa, s->threads);
}

static bool add_line(cli_tune_samples *s, const rynd_tuned_problem *problem,
                     const rynd_tuned_form *form, bool untuned, cli_failure *failure)
{
    return add_json_problem(s, problem->problem, failure) &&
           add(s, failure, ", \"kernel\": \"%s\", \"knobs\": ", form->kernel) &&
           add_json_text(s, form->knobs, strlen(form->knobs), failure) &&
           add(s, failure,
               ", \"verdict\": \"%s\", \"untuned\": %s, \"weights\": \"%s\", \"flop\": %.17g, "
               "\"bytes\": %.17g, \"tasks\": %zu, \"packed\": %zu, \"workspace\": %zu, ",
               rynd_tuned_verdict_text(form->verdict), untuned ? "true" : "false",
               problem->cold ? "cold" : "warm", form->flop, form->bytes, form->tasks, form->packed,
               form->workspace) &&
           add(s, failure,
               "\"predicted\": %.9g, \"samples\": %zu, \"mean\": %.9g, \"variance\": %.9g, "
               "\"median\": %.9g, \"min\": %.9g, \"max\": %.9g, ",
               form->predicted, form->n, form->mean, form->variance, form->median, form->min,
               form->max) &&
           (form->joule <= 0 || add(s, failure, "\"energy\": %.9g, ", form->joule)) &&
           add(s, failure, "\"device\": \"%s\", \"isa\": \"%s\", \"threads\": %u}\n", s->device,
               s->isa, s->threads);
}

bool cli_tune_samples_add(cli_tune_samples *samples, const rynd_tuning *tuning,
                          cli_failure *failure)
{
    rynd_tuned_problem problem = RYND_SIZED(rynd_tuned_problem);
    for (size_t p = 0; samples->path && rynd_tuning_get_problem(tuning, p, &problem) == RYND_OK;
         p++) {
        for (size_t i = 0; i < problem.forms; i++) {
            rynd_tuned_form form = RYND_SIZED(rynd_tuned_form);
            if (rynd_tuning_get_form(tuning, p, i, &form) != RYND_OK) {
                return cli_fail_library(failure);
            }
            if (form.n == 0) {
                continue;
            }
            if (!(samples->lines ? add_line : add_csv)(samples, &problem, &form, i == 0, failure)) {
                return false;
            }
            samples->rows++;
        }
    }
    return true;
}

bool cli_tune_samples_write(cli_tune_samples *samples, cli_failure *failure)
{
    if (!samples->path || samples->written == samples->used) {
        return true;
    }
    samples->written = samples->used;
    return cli_file_write(samples->path, samples->text, samples->used, failure);
}

void cli_tune_samples_free(cli_tune_samples *samples)
{
    free(samples->text);
    *samples = (cli_tune_samples){0};
}
