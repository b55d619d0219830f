/* SPDX-License-Identifier: Apache-2.0 */
/* rynd plan: every decision for a model or a problem, with its reason. */
#include "commands.h"
#include "explain.h"
#include "json_out.h"
#include "line.h"
#include "page.h"
#include "plan_dot.h"
#include "setup.h"
#include "steps.h"
#include "table.h"
#include "wording.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct plan_settings {
    cli_common common;
    bool knobs, explain, gradient;
    const char *step;
    int64_t forms;
    const char *html;
    bool dot;
} plan_settings;

static const plan_settings defaults = {.forms = 3};

/* clang-format off */
static const cli_option options[] = {
    {"knobs", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(plan_settings, knobs),
     "list each step's tunable parameters and their legal values, instead of the choices"},
    {"explain", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(plan_settings, explain),
     "show why each kernel was chosen, and why not the others"},
    {"step", 0, CLI_TEXT, "STEP", NULL, 0, 0, offsetof(plan_settings, step),
     "with --explain: explain only this step of a model"},
    {"forms", 0, CLI_INTEGER, "N", NULL, 1, 1e6, offsetof(plan_settings, forms),
     "with --explain: show the N fastest predicted forms of each kernel (default 3; with "
     "--verbose all)"},
    {"html", 0, CLI_TEXT, "FILE", NULL, 0, 0, offsetof(plan_settings, html),
     "write a model's plan as a page: graph, memory, roofline, predicted times; it needs no network"},
    {"dot", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(plan_settings, dot),
     "print a model's steps as a graph for Graphviz: rynd plan MODEL --dot | dot -Tsvg > plan.svg"},
    {"gradient", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(plan_settings, gradient),
     "plan the gradient of an expr problem, and print the programs of its steps"},
    {0},
};
/* clang-format on */

/* The decisions to print. */
typedef struct decisions {
    cli_steps steps;
    bool problems; /* print the steps' problems as text */
} decisions;

/* A step that changes a layout and nothing else: the graph's own operators have another problem. */
static bool is_conversion(const rynd_step_info *step)
{
    return strncmp(step->problem, "copy ", 5) == 0;
}

static void print_memory(const rynd_memory *memory)
{
    printf("memory: weights %s, activations %s, workspace %s, total %s\n",
           cli_word_bytes((double)memory->weights).text,
           cli_word_bytes((double)memory->activations).text,
           cli_word_bytes((double)memory->workspace).text,
           cli_word_bytes((double)memory->total).text);
}

/* Which steps run in micro-batches. */
static bool print_micro_batches(const decisions *d, cli_failure *failure)
{
    rynd_step_info step, next;
    bool done = true;
    for (size_t first = 0, end; done && first < cli_steps_count(&d->steps); first = end) {
        done = cli_steps_get(&d->steps, first, &step, failure);
        for (end = first + 1; done && end < cli_steps_count(&d->steps); end++) {
            done = cli_steps_get(&d->steps, end, &next, failure);
            if (next.micro_batches != step.micro_batches) {
                break;
            }
        }
        if (done && step.micro_batches > 1) {
            printf("steps %zu to %zu split the batch into %lld micro-batches, so that their "
                   "tensors stay "
                   "in the cache\n",
                   first + 1, end, (long long)step.micro_batches);
        }
    }
    return done;
}

/* Nothing where all is as predicted, and nobody said so. */
static bool print_form(const rynd_plan *plan, cli_failure *failure)
{
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    if (rynd_plan_get_form(plan, &form) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (form.knobs[0] || form.measured > 0) {
        printf("plan: %s; %s\n", form.knobs[0] ? form.knobs : "as predicted", form.reason);
    }
    return true;
}

static bool add_form_json(const rynd_plan *plan, cJSON *result, cli_failure *failure)
{
    rynd_plan_form form = RYND_SIZED(rynd_plan_form);
    if (rynd_plan_get_form(plan, &form) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cJSON *object = cJSON_AddObjectToObject(result, "form");
    cli_json_text(object, "knobs", form.knobs);
    cli_json_text(object, "reason", form.reason);
    cJSON_AddItemToObject(object, "measured",
                          form.measured > 0 ? cJSON_CreateNumber(form.measured)
                                            : cJSON_CreateNull());
    return true;
}

static bool print_problems(const decisions *d, cli_failure *failure)
{
    for (size_t i = 0; i < cli_steps_count(&d->steps); i++) {
        rynd_step_info step;
        if (!cli_steps_get(&d->steps, i, &step, failure)) {
            return false;
        }
        cli_line(stdout, "%s", step.problem);
    }
    putchar('\n');
    return true;
}

static bool print_text(const decisions *d, const rynd_memory *memory, cli_failure *failure)
{
    static const char *const head[] = {"step", "op",  "kernel", "predicted", "knobs",
                                       "in",   "out", "fused",  "class",     "reason"};
    cli_table table;
    bool done = true;
    cli_table_begin(&table, "lllrLlllLL", head);
    for (size_t i = 0; done && i < cli_steps_count(&d->steps); i++) {
        rynd_step_info step;
        rynd_prediction time;
        done = cli_steps_get(&d->steps, i, &step, failure) &&
               cli_steps_predict(&d->steps, i, &time, failure);
        if (done) {
            const cli_word predicted = cli_word_seconds(time.median);
            const char *cells[] = {step.name,     step.op,        step.kernel,     predicted.text,
                                   step.knobs,    step.layout_in, step.layout_out, step.fused,
                                   step.accuracy, step.reason};
            for (size_t c = 0; c < sizeof cells / sizeof *cells; c++) {
                cli_table_add(&table, "%s", cells[c]);
            }
        }
    }
    if (!done) {
        cli_table_print(&table, NULL);
        return false;
    }
    if (!cli_table_print(&table, stdout)) {
        return cli_fail_memory(failure);
    }
    if (!d->steps.plan) {
        rynd_step_info step;
        done = cli_steps_get(&d->steps, 0, &step, failure);
        if (done) {
            putchar('\n');
            cli_line(stdout, "%s", step.problem);
            if (*step.knobs) {
                cli_line(stdout, "%s", step.knobs);
            }
            cli_line(stdout, "%s", step.reason);
            printf("%s, moves %s at least\n", cli_word_rate(step.flop, "flop").text,
                   cli_word_bytes(step.bytes).text);
            print_memory(memory);
        }
        return done;
    }
    printf("\n");
    if ((d->problems && !print_problems(d, failure)) || !print_micro_batches(d, failure)) {
        return false;
    }
    if (!print_form(d->steps.plan, failure)) {
        return false;
    }
    print_memory(memory);
    printf("planned in %s%s\n", cli_word_seconds(rynd_plan_planning_seconds(d->steps.plan)).text,
           rynd_plan_complete(d->steps.plan)
               ? ""
               : "; steps whose shapes depend on data are planned while running");
    return true;
}

static size_t knob_count(const decisions *d, size_t step)
{
    return d->steps.plan ? rynd_plan_knob_count(d->steps.plan, step)
                         : rynd_op_knob_count(d->steps.op);
}

static bool get_knob(const decisions *d, size_t step, size_t index, rynd_knob *knob,
                     cli_failure *failure)
{
    *knob = RYND_SIZED(rynd_knob);
    rynd_status status = d->steps.plan ? rynd_plan_get_knob(d->steps.plan, step, index, knob)
                                       : rynd_op_get_knob(d->steps.op, index, knob);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

typedef struct knob_value {
    char text[RYND_KNOB_TEXT];
} knob_value;

static bool get_value(const decisions *d, size_t step, size_t knob, size_t index, knob_value *value,
                      cli_failure *failure)
{
    const rynd_status status =
        d->steps.plan
            ? rynd_plan_get_knob_value(d->steps.plan, step, knob, index, value->text,
                                       sizeof value->text)
            : rynd_op_get_knob_value(d->steps.op, knob, index, value->text, sizeof value->text);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

/* Prints a knob's legal values: "1, 2, 4"; with a unit, whose knobs take each number: "0 to 1000
 * percent of ...". */
static bool print_values(const decisions *d, size_t step, size_t index, const rynd_knob *knob,
                         FILE *to, cli_failure *failure)
{
    knob_value value;
    const size_t last = knob->value_count - 1, by = *knob->unit && last > 0 ? last : 1;
    for (size_t v = 0; v < knob->value_count; v += by) {
        if (!get_value(d, step, index, v, &value, failure)) {
            return false;
        }
        fprintf(to, "%s%s", v == 0 ? "" : *knob->unit ? " to " : ", ", value.text);
    }
    fprintf(to, "%s%s", *knob->unit ? " " : "", knob->unit);
    return true;
}

/* A row of each knob of a step, or of the plan (RYND_PLAN_WHOLE). */
static bool add_knob_rows(const decisions *d, size_t step, const char *name, const char *kernel,
                          cli_table *table, cli_failure *failure)
{
    bool done = true;
    for (size_t k = 0; done && k < knob_count(d, step); k++) {
        rynd_knob knob;
        char *values = NULL;
        size_t size = 0;
        FILE *to = open_memstream(&values, &size);
        done = to ? get_knob(d, step, k, &knob, failure) &&
                        print_values(d, step, k, &knob, to, failure)
                  : cli_fail_memory(failure);
        if (to && fclose(to) != 0 && done) {
            done = cli_fail_memory(failure);
        }
        if (done) {
            cli_table_add(table, "%s.%s", name, knob.name);
            cli_table_add(table, "%s", knob.value);
            cli_table_add(table, "%s", kernel);
            cli_table_add(table, "%s", values);
        }
        free(values);
    }
    return done;
}

static bool print_knobs(const decisions *d, cli_failure *failure)
{
    static const char *const head[] = {"knob", "value", "kernel", "legal values"};
    cli_table table;
    bool done = true;
    cli_table_begin(&table, "llll", head);
    for (size_t s = 0; done && s < cli_steps_count(&d->steps); s++) {
        rynd_step_info step;
        done = cli_steps_get(&d->steps, s, &step, failure) &&
               add_knob_rows(d, s, step.name, step.kernel, &table, failure);
    }
    if (done && d->steps.plan) {
        done = add_knob_rows(d, RYND_PLAN_WHOLE, "plan", "plan", &table, failure);
    }
    if (!cli_table_print(&table, done ? stdout : NULL) && done) {
        return cli_fail_memory(failure);
    }
    return done;
}

/* Knobs of a step as an array: {"name", "value", "values": [...], "main"}. */
static bool add_knobs(const decisions *d, size_t step, cJSON *node, cli_failure *failure)
{
    cJSON *knobs = cJSON_AddArrayToObject(node, "knob_values");
    for (size_t k = 0; k < knob_count(d, step); k++) {
        rynd_knob knob;
        if (!get_knob(d, step, k, &knob, failure)) {
            return false;
        }
        cJSON *object = cli_json_object_in(knobs);
        cli_json_text(object, "name", knob.name);
        cli_json_text(object, "value", knob.value);
        cJSON *values = cJSON_AddArrayToObject(object, "values");
        for (size_t v = 0; v < knob.value_count; v++) {
            knob_value value;
            if (!get_value(d, step, k, v, &value, failure)) {
                return false;
            }
            cJSON_AddItemToArray(values, cJSON_CreateString(value.text));
        }
        cJSON_AddBoolToObject(object, "main", knob.main);
    }
    return true;
}

static bool print_json(const decisions *d, const char *name, const rynd_memory *memory,
                       cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("plan", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", name);
    cJSON *nodes = cJSON_AddArrayToObject(result, "nodes"),
          *conversions = cJSON_AddArrayToObject(result, "conversions");
    for (size_t i = 0; i < cli_steps_count(&d->steps); i++) {
        rynd_step_info step;
        if (!cli_steps_get(&d->steps, i, &step, failure)) {
            cJSON_Delete(document);
            return false;
        }
        cJSON *node = cli_json_object_in(is_conversion(&step) ? conversions : nodes);
        cli_json_text(node, "name", step.name);
        cli_json_text(node, "op", step.op);
        cli_json_text(node, "kernel", step.kernel);
        cli_json_text(node, "accuracy", step.accuracy);
        cli_json_text(node, "knobs", step.knobs);
        cli_json_text(node, "layout_in", step.layout_in);
        cli_json_text(node, "layout_out", step.layout_out);
        cli_json_text(node, "fused", step.fused);
        cli_json_text(node, "reason", step.reason);
        cli_json_text(node, "problem", step.problem);
        char source[20];
        snprintf(source, sizeof source, "%016" PRIx64, step.source);
        cli_json_text(node, "source", source);
        cJSON_AddBoolToObject(node, "reference", step.reference);
        cli_json_number(node, "flop", step.flop);
        cli_json_number(node, "bytes", step.bytes);
        cli_json_number(node, "micro_batches", (double)step.micro_batches);
        cli_json_number(node, "activations", (double)step.activations);
        cli_json_number(node, "workspace", (double)step.workspace);
        if (!add_knobs(d, i, node, failure)) {
            cJSON_Delete(document);
            return false;
        }
    }
    cli_json_memory(result, "memory", memory);
    if (d->steps.plan && !add_form_json(d->steps.plan, result, failure)) {
        cJSON_Delete(document);
        return false;
    }
    if (d->steps.plan) {
        cli_json_number(result, "planning_seconds", rynd_plan_planning_seconds(d->steps.plan));
        cJSON_AddBoolToObject(result, "complete", rynd_plan_complete(d->steps.plan));
    }
    return cli_json_print(document, failure);
}

static bool write_page(const cli_setup *setup, const cli_common *common, const char *path,
                       cli_failure *failure)
{
    cli_limit limit;
    cJSON *data = cli_limit_open(&limit, setup->context, common, failure)
                      ? cli_page_data(setup, &limit, common->arguments.items[0], failure)
                      : NULL;
    return data && cli_page_write(data, path, failure);
}

static bool plan(const plan_settings *own, cli_setup *setup, rynd_op **op, cli_failure *failure)
{
    const cli_common *common = &own->common;
    const char *name = common->arguments.items[0];
    rynd_memory memory = RYND_SIZED(rynd_memory);
    if (own->step && !own->explain) {
        return cli_fail_usage(failure, "plan: --step needs --explain");
    }
    if ((own->html || own->dot) && cli_is_problem(name) && !own->gradient) {
        return cli_fail_usage(failure, "plan: --html and --dot take a model's file");
    }
    if (!cli_setup_context(setup, common, failure)) {
        return false;
    }
    if (cli_is_problem(name) && !own->gradient) {
        if (!cli_setup_op(setup, common, name, NULL, op, failure)) {
            return false;
        }
    } else if (!(own->gradient ? cli_setup_gradient : cli_setup_model)(setup, name, failure) ||
               !cli_setup_plan(setup, common, NULL, true, failure)) {
        return false;
    }
    if ((*op ? rynd_op_get_memory(*op, &memory) : rynd_plan_get_memory(setup->plan, &memory)) !=
        RYND_OK) {
        return cli_fail_library(failure);
    }
    decisions d = {cli_steps_of(setup->plan, *op), own->gradient};
    if (own->explain && d.steps.plan && !common->json && !print_form(d.steps.plan, failure)) {
        return false;
    }
    if (own->explain) {
        const cli_explain_settings settings = {name, own->step,
                                               common->verbose ? SIZE_MAX : (size_t)own->forms};
        return cli_explain(setup->context, &d.steps, &settings, common, failure);
    }
    if (own->html && !write_page(setup, common, own->html, failure)) {
        return false;
    }
    if (own->dot) {
        return cli_plan_print_dot(setup->plan, failure);
    }
    if (own->knobs && !common->json) {
        return print_knobs(&d, failure);
    }
    return common->json ? print_json(&d, name, &memory, failure) : print_text(&d, &memory, failure);
}

static bool run(void *settings, cli_failure *failure)
{
    cli_setup setup = {0};
    rynd_op *op = NULL;
    bool done = plan(settings, &setup, &op, failure);
    rynd_op_destroy(op);
    cli_setup_close(&setup);
    return done;
}

const cli_command cli_command_plan = {
    .name = "plan",
    .arguments = "MODEL|'PROBLEM'",
    .least = 1,
    .most = 1,
    .help = "print the plan of a model or a problem: every choice, and the memory",
    .examples = "rynd plan model.onnx --batch 8\n"
                "rynd plan 'conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1' --explain",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(plan_settings),
    .defaults = &defaults,
    .run = run,
};
