/* SPDX-License-Identifier: Apache-2.0 */
/* rynd predict: time and memory of models and problems, without running them. */
#include "commands.h"
#include "json_out.h"
#include "setup.h"
#include "steps.h"
#include "table.h"
#include "wording.h"

#include <stddef.h>
#include <stdio.h>

typedef struct predict_settings {
    cli_common common;
    bool steps, gradient;
} predict_settings;

/* clang-format off */
static const cli_option options[] = {
    {"steps", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(predict_settings, steps),
     "print the time of each step, too, with its parts: arithmetic, memory, overhead"},
    {"gradient", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(predict_settings, gradient),
     "predict the gradients of expr problems"},
    {0},
};
/* clang-format on */

typedef struct predict {
    const predict_settings *settings;
    cli_setup setup;
    rynd_op *op; /* the current problem; NULL: a model */
    cJSON *document, *results;
    cli_table table, steps;
} predict;

static bool open_subject(predict *p, const char *name, cli_failure *failure)
{
    const cli_common *common = &p->settings->common;
    const bool gradient = p->settings->gradient;
    if (cli_is_problem(name) && !gradient) {
        return cli_setup_op(&p->setup, common, name, NULL, &p->op, failure);
    }
    return (gradient ? cli_setup_gradient : cli_setup_model)(&p->setup, name, failure) &&
           cli_setup_plan(&p->setup, common, NULL, true, failure);
}

static void close_subject(predict *p)
{
    rynd_op_destroy(p->op);
    p->op = NULL;
    cli_setup_close_model(&p->setup);
}

/* null: there is no meter. */
static void add_energy(cJSON *object, const rynd_prediction *prediction)
{
    if (!*prediction->meter) {
        cJSON_AddNullToObject(object, "energy");
        return;
    }
    cJSON *energy = cJSON_AddObjectToObject(object, "energy");
    cli_json_number(energy, "joule", prediction->joule);
    cli_json_number(energy, "low", prediction->joule_low);
    cli_json_number(energy, "high", prediction->joule_high);
    cli_json_text(energy, "meter", prediction->meter);
}

/* "1.23 J (1.1-1.4)" */
static void add_joules(cli_table *table, const rynd_prediction *prediction)
{
    if (*prediction->meter) {
        cli_table_add(table, "%.3g J (%.3g-%.3g)", prediction->joule, prediction->joule_low,
                      prediction->joule_high);
    } else {
        cli_table_add(table, "no meter");
    }
}

/* As a table, or an array of the result. */
static bool add_steps(predict *p, cJSON *nodes, cli_failure *failure)
{
    const cli_steps steps = cli_steps_of(p->setup.plan, p->op);
    for (size_t i = 0; i < cli_steps_count(&steps); i++) {
        rynd_step_info step;
        rynd_prediction time;
        if (!cli_steps_get(&steps, i, &step, failure) ||
            !cli_steps_predict(&steps, i, &time, failure)) {
            return false;
        }
        if (nodes) {
            cJSON *node = cli_json_object_in(nodes);
            cli_json_text(node, "name", step.name);
            cli_json_text(node, "op", step.op);
            cli_json_text(node, "kernel", step.kernel);
            cli_json_text(node, "knobs", step.knobs);
            cli_json_text(node, "problem", step.problem);
            cli_json_time(node, &time);
            cli_json_number(node, "arithmetic", time.arithmetic);
            cli_json_number(node, "memory", time.memory);
            cli_json_number(node, "overhead", time.overhead);
            add_energy(node, &time);
            continue;
        }
        cli_table_add(&p->steps, "%s", step.name);
        cli_table_add(&p->steps, "%s", step.kernel);
        const double seconds[] = {time.median,     time.low,    time.high,
                                  time.arithmetic, time.memory, time.overhead};
        for (size_t c = 0; c < sizeof seconds / sizeof *seconds; c++) {
            cli_table_add(&p->steps, "%s", cli_word_seconds(seconds[c]).text);
        }
        add_joules(&p->steps, &time);
    }
    return true;
}

static bool add_json(predict *p, const char *name, const rynd_prediction *time,
                     const rynd_memory *memory, cli_failure *failure)
{
    cJSON *result = cli_json_object_in(p->results);
    cli_json_text(result, "name", name);
    cli_json_time(result, time);
    cli_json_memory(result, "memory", memory);
    add_energy(result, time);
    cJSON_AddBoolToObject(result, "complete", p->op ? 1 : rynd_plan_complete(p->setup.plan));
    return add_steps(p, cJSON_AddArrayToObject(result, "nodes"), failure);
}

static bool add_text(predict *p, const char *name, const rynd_prediction *time,
                     const rynd_memory *memory, cli_failure *failure)
{
    cli_table_add(&p->table, "%s", name);
    cli_table_add(&p->table, "%s%s", cli_word_seconds(time->median).text,
                  p->op || rynd_plan_complete(p->setup.plan) ? "" : " and more");
    cli_table_add(&p->table, "%s", cli_word_seconds(time->low).text);
    cli_table_add(&p->table, "%s", cli_word_seconds(time->high).text);
    cli_table_add(&p->table, "%s", cli_word_bytes((double)memory->total).text);
    cli_table_add(&p->table, "%s", cli_word_bytes((double)memory->weights).text);
    cli_table_add(&p->table, "%s", cli_word_bytes((double)memory->activations).text);
    cli_table_add(&p->table, "%s", cli_word_bytes((double)memory->workspace).text);
    add_joules(&p->table, time);
    return !p->settings->steps || add_steps(p, NULL, failure);
}

static bool predict_one(predict *p, const char *name, cli_failure *failure)
{
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_prediction time = RYND_SIZED(rynd_prediction);
    bool done = open_subject(p, name, failure);
    if (done) {
        const bool known = p->op ? rynd_op_predict(p->op, &time) == RYND_OK &&
                                       rynd_op_get_memory(p->op, &memory) == RYND_OK
                                 : rynd_plan_predict(p->setup.plan, &time) == RYND_OK &&
                                       rynd_plan_get_memory(p->setup.plan, &memory) == RYND_OK;
        done = known ? (p->settings->common.json ? add_json(p, name, &time, &memory, failure)
                                                 : add_text(p, name, &time, &memory, failure))
                     : cli_fail_library(failure);
    }
    close_subject(p);
    return done;
}

static bool predict_all(predict *p, cli_failure *failure)
{
    const cli_list *names = &p->settings->common.arguments;
    if (!cli_setup_context(&p->setup, &p->settings->common, failure)) {
        return false;
    }
    for (size_t i = 0; i < names->count; i++) {
        if (!predict_one(p, names->items[i], failure)) {
            return false;
        }
    }
    return true;
}

static bool print_tables(predict *p, bool done, cli_failure *failure)
{
    bool printed = cli_table_print(&p->table, done ? stdout : NULL);
    const bool steps = done && printed && p->settings->steps;
    if (steps) {
        putchar('\n');
    }
    printed = cli_table_print(&p->steps, steps ? stdout : NULL) && printed;
    return !done || printed || cli_fail_memory(failure);
}

static bool run(void *settings, cli_failure *failure)
{
    static const char *const head[] = {"name",    "time",        "90% low",   "90% high", "memory",
                                       "weights", "activations", "workspace", "energy"};
    static const char *const step_head[] = {"step",    "kernel",   "time",
                                            "90% low", "90% high", "arithmetic",
                                            "memory",  "overhead", "energy"};
    predict p = {.settings = settings};
    const bool json = p.settings->common.json;
    if (json) {
        p.document = cli_json_begin("predict", &p.results);
    } else {
        cli_table_begin(&p.table, "lrrrrRRRr", head);
        cli_table_begin(&p.steps, "llrRRrrrr", step_head);
    }
    bool done = predict_all(&p, failure);
    if (json && done) {
        done = cli_json_print(p.document, failure);
    } else if (json) {
        cJSON_Delete(p.document);
    } else {
        done = print_tables(&p, done, failure) && done;
    }
    cli_setup_close(&p.setup);
    return done;
}

const cli_command cli_command_predict = {
    .name = "predict",
    .arguments = "MODEL|'PROBLEM'...",
    .least = 1,
    .most = SIZE_MAX,
    .help = "estimate time, memory and energy of models and problems, without running them",
    .text = "Predicts for this machine, or for the one in --machine FILE, on --threads N or on all "
            "cores. Nine of ten runs take between '90% low' and '90% high'. Memory is exact.",
    .examples = "rynd predict model.onnx --steps\n"
                "rynd predict 'conv c=64 h=56 w=56 k=64 r=3 s=3 pad=1' --threads 1",
    .options = options,
    .uses = CLI_USE_ALL,
    .settings_size = sizeof(predict_settings),
    .run = run,
};
