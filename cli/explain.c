/* SPDX-License-Identifier: Apache-2.0 */
/* Prints candidates as tables, or as JSON. */
#include "explain.h"

#include "candidate_list.h"
#include "json_out.h"
#include "limit.h"
#include "line.h"
#include "table.h"
#include "wording.h"

#include <stdio.h>
#include <string.h>

typedef struct explain {
    const cli_steps *steps;
    const cli_explain_settings *settings;
    cli_limit limit;
    cJSON *document, *results; /* NULL: text */
} explain;

/* One problem: its first step, and the number of further steps. */
typedef struct subject {
    rynd_step_info step;
    cli_candidates candidates;
    size_t index, others;
    double limit; /* seconds; negative: there is none */
} subject;

/* Steps of one problem are alike but for their constants. */
static bool is_alike(const rynd_step_info *a, const rynd_step_info *b)
{
    return strcmp(a->problem, b->problem) == 0 && strcmp(a->kernel, b->kernel) == 0 &&
           strcmp(a->knobs, b->knobs) == 0;
}

/* False: an earlier step has its problem, or another is asked for. */
static bool is_subject(const explain *e, size_t index, const rynd_step_info *step)
{
    rynd_step_info before;
    cli_failure ignored = {0};
    if (e->settings->step) {
        return strcmp(step->name, e->settings->step) == 0;
    }
    for (size_t i = 0; i < index; i++) {
        if (cli_steps_get(e->steps, i, &before, &ignored) && is_alike(&before, step)) {
            return false;
        }
    }
    return true;
}

static size_t count_others(const explain *e, const subject *s)
{
    rynd_step_info after;
    cli_failure ignored = {0};
    size_t others = 0;
    for (size_t i = s->index + 1; i < cli_steps_count(e->steps); i++) {
        others += cli_steps_get(e->steps, i, &after, &ignored) && is_alike(&after, &s->step);
    }
    return others;
}

static bool is_shown(const explain *e, const cli_candidate *c)
{
    return c->is.chosen || c->is.refused || c->rank < e->settings->forms;
}

/* The chosen form's arithmetic by kinds that take a hundredth of it. */
static void print_kinds(const rynd_candidate *is)
{
    const char *before = "arithmetic: ";
    for (size_t i = 0; i < RYND_WORK_KINDS; i++) {
        if (is->kinds[i] > 0.01 * is->prediction.arithmetic) {
            printf("%s%s %s", before, rynd_work_kind_name(i), cli_word_seconds(is->kinds[i]).text);
            before = ", ";
        }
    }
    fputs(before[0] == ',' ? "\n\n" : "\n", stdout);
}

static void print_head(const explain *e, const subject *s)
{
    const rynd_prediction *p = &s->candidates.items[0].is.prediction;
    cli_line(stdout, "%s", s->step.problem);
    if (e->steps->plan && s->others) {
        cli_line(stdout, "step %s, and %zu more steps with this problem", s->step.name, s->others);
    } else if (e->steps->plan) {
        cli_line(stdout, "step %s", s->step.name);
    }
    printf("predicted %s, 90%% interval %s to %s", cli_word_seconds(p->median).text,
           cli_word_seconds(p->low).text, cli_word_seconds(p->high).text);
    if (s->limit >= 0) {
        printf("; roofline limit %s, reached to %.0f%%", cli_word_seconds(s->limit).text,
               100 * s->limit / p->median);
    }
    printf("\narithmetic %s, memory %s, overhead of threads %s; they overlap in part\n",
           cli_word_seconds(p->arithmetic).text, cli_word_seconds(p->memory).text,
           cli_word_seconds(p->overhead).text);
    print_kinds(&s->candidates.items[0].is);
}

static void add_form(cli_table *table, const cli_candidate *c, double chosen, bool measured)
{
    const rynd_candidate *is = &c->is;
    cli_table_add(table, "%s", is->chosen ? "*" : "");
    cli_table_add(table, "%s", is->kernel);
    cli_table_add(table, "%s", is->accuracy);
    cli_table_add(table, "%zu of %zu", c->rank + 1, c->forms);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.median).text);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.low).text);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.high).text);
    cli_table_add(table, "%.2f", is->prediction.median / chosen);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.arithmetic).text);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.memory).text);
    cli_table_add(table, "%s", cli_word_seconds(is->prediction.overhead).text);
    if (measured) {
        cli_table_add(table, "%s", is->measured > 0 ? cli_word_seconds(is->measured).text : "-");
    }
    cli_table_add(table, "%s", cli_word_bytes((double)is->workspace).text);
    cli_table_add(table, "%s", cli_word_bytes((double)is->packed).text);
    cli_table_add(table, "%s", is->knobs);
}

static bool print_forms(const explain *e, const subject *s, cli_failure *failure)
{
    static const char *const head[] = {"",        "kernel",    "class",    "form",  "predicted",
                                       "90% low", "90% high",  "relative", "ports", "memory",
                                       "start",   "workspace", "packed",   "knobs"};
    static const char *const head_measured[] = {
        "",      "kernel", "class", "form",     "predicted", "90% low", "90% high", "relative",
        "ports", "memory", "start", "measured", "workspace", "packed",  "knobs"};
    const cli_candidates *all = &s->candidates;
    const double chosen = all->items[0].is.prediction.median;
    bool measured = false;
    for (size_t i = 0; i < all->count; i++) {
        measured = measured || all->items[i].is.measured > 0;
    }
    cli_table table;
    cli_table_begin(&table, measured ? "llLrrrrrRRRrRRl" : "llLrrrrrRRRRRl",
                    measured ? head_measured : head);
    for (size_t i = 0; i < all->count; i++) {
        if (!all->items[i].is.refused && is_shown(e, &all->items[i])) {
            add_form(&table, &all->items[i], chosen, measured);
        }
    }
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

static bool print_refused(const subject *s, cli_failure *failure)
{
    static const char *const head[] = {"", "rejected", "class", "reason"};
    cli_table table;
    cli_table_begin(&table, "llll", head);
    size_t count = 0;
    for (size_t i = 0; i < s->candidates.count; i++) {
        const rynd_candidate *is = &s->candidates.items[i].is;
        if (is->refused) {
            cli_table_add(&table, " ");
            cli_table_add(&table, "%s", is->kernel);
            cli_table_add(&table, "%s", is->accuracy);
            cli_table_add(&table, "%s", is->refused);
            count++;
        }
    }
    if (count) {
        putchar('\n');
    }
    return cli_table_print(&table, count ? stdout : NULL) || cli_fail_memory(failure);
}

static void add_candidate(cJSON *array, const cli_candidate *c)
{
    const rynd_candidate *is = &c->is;
    const rynd_prediction *p = &is->prediction;
    cJSON *object = cli_json_object_in(array);
    cli_json_text(object, "kernel", is->kernel);
    cli_json_text(object, "accuracy", is->accuracy);
    if (is->refused) {
        cli_json_text(object, "reason", is->refused);
        return;
    }
    cli_json_text(object, "knobs", is->knobs);
    cJSON_AddBoolToObject(object, "chosen", is->chosen);
    cli_json_time(object, p);
    cli_json_number(object, "arithmetic", p->arithmetic);
    cli_json_number(object, "memory", p->memory);
    cli_json_number(object, "overhead", p->overhead);
    cJSON *kinds = cJSON_AddObjectToObject(object, "kinds");
    for (size_t i = 0; i < RYND_WORK_KINDS; i++) {
        if (is->kinds[i] > 0) {
            cli_json_number(kinds, rynd_work_kind_name(i), is->kinds[i]);
        }
    }
    cJSON_AddItemToObject(object, "measured",
                          is->measured > 0 ? cJSON_CreateNumber(is->measured) : cJSON_CreateNull());
    cli_json_number(object, "workspace", (double)is->workspace);
    cli_json_number(object, "packed", (double)is->packed);
    cli_json_number(object, "forms", (double)c->forms);
}

static void add_json(const explain *e, const subject *s)
{
    cJSON *object = cli_json_object_in(e->results);
    cli_json_text(object, "name", s->step.name);
    cli_json_text(object, "op", s->step.op);
    cli_json_text(object, "problem", s->step.problem);
    cli_json_number(object, "steps", (double)s->others + 1);
    cJSON_AddItemToObject(object, "limit",
                          s->limit >= 0 ? cJSON_CreateNumber(s->limit) : cJSON_CreateNull());
    cJSON *forms = cJSON_AddArrayToObject(object, "candidates"),
          *refused = cJSON_AddArrayToObject(object, "refused");
    for (size_t i = 0; i < s->candidates.count; i++) {
        const cli_candidate *c = &s->candidates.items[i];
        if (is_shown(e, c)) {
            add_candidate(c->is.refused ? refused : forms, c);
        }
    }
}

static bool explain_one(explain *e, size_t index, const rynd_step_info *step, bool first,
                        cli_failure *failure)
{
    subject s = {.step = *step, .index = index, .limit = cli_limit_of(&e->limit, step)};
    s.others = e->settings->step ? 0 : count_others(e, &s);
    bool done = cli_candidates_get(&s.candidates, e->steps, index, failure);
    if (done && e->results) {
        add_json(e, &s);
    } else if (done) {
        fputs(first ? "" : "\n", stdout);
        print_head(e, &s);
        done = print_forms(e, &s, failure) && print_refused(&s, failure);
    }
    cli_candidates_free(&s.candidates);
    return done;
}

static bool explain_all(explain *e, cli_failure *failure)
{
    size_t count = 0;
    for (size_t i = 0; i < cli_steps_count(e->steps); i++) {
        rynd_step_info step;
        if (!cli_steps_get(e->steps, i, &step, failure)) {
            return false;
        }
        if (is_subject(e, i, &step) && !explain_one(e, i, &step, count++ == 0, failure)) {
            return false;
        }
    }
    return count || !e->settings->step
               ? true
               : cli_fail(failure, "%s has no step called '%s'; `rynd plan` lists the steps",
                          e->settings->name, e->settings->step);
}

bool cli_explain(const rynd_context *context, const cli_steps *steps,
                 const cli_explain_settings *settings, const cli_common *common,
                 cli_failure *failure)
{
    explain e = {.steps = steps, .settings = settings};
    if (!cli_limit_open(&e.limit, context, common, failure)) {
        return false;
    }
    if (common->json) {
        cJSON *results;
        e.document = cli_json_begin("plan", &results);
        cJSON *result = cli_json_object_in(results);
        cli_json_text(result, "name", settings->name);
        e.results = cJSON_AddArrayToObject(result, "explained");
    }
    const bool done = explain_all(&e, failure);
    if (done && e.document) {
        return cli_json_print(e.document, failure);
    }
    cJSON_Delete(e.document);
    return done;
}
