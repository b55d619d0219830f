/* SPDX-License-Identifier: Apache-2.0 */
/* Opens contexts, models and plans from settings. */
#include "setup.h"

#include "ending.h"
#include "notes.h"
#include "statistics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* What --device takes: what this build has. */
static bool is_device(const char *text)
{
    static const char *const kinds[] = {"opencl", "cuda"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const size_t length = strlen(kinds[i]);
        const char *index = text + length;
        if (strncmp(text, kinds[i], length) == 0 &&
            (!*index ||
             (index[0] == ':' && index[1] && !index[1 + strspn(index + 1, "0123456789")]))) {
            return true;
        }
    }
    return strcmp(text, "cpu") == 0;
}

bool cli_check_device(const cli_common *common, cli_failure *failure)
{
    return !common->device || is_device(common->device) ||
           cli_fail_usage(failure,
                          "--device does not take '%s'; this build has: cpu, opencl[:N], cuda[:N]",
                          common->device);
}

bool cli_setup_context(cli_setup *setup, const cli_common *common, cli_failure *failure)
{
    if (!cli_check_device(common, failure)) {
        return false;
    }
    rynd_context_options options = RYND_SIZED(
        rynd_context_options, .device = common->device, .threads = (unsigned)common->threads,
        .machine = common->machine, .wisdom = common->wisdom, .frozen = common->frozen,
        .log = cli_log, .log_user = (void *)(uintptr_t)common);
    sigset_t before;
    cli_ending_hold(
        &before); /* the context's threads inherit the mask: signals go to this thread */
    const rynd_status status = rynd_context_create(&options, &setup->context);
    cli_ending_release(&before);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

bool cli_setup_model(cli_setup *setup, const char *path, cli_failure *failure)
{
    double begin = cli_now();
    bool done = rynd_model_load(setup->context, path, &setup->model) == RYND_OK;
    setup->load_time = cli_now() - begin;
    if (!done) {
        setup->model = NULL;
        return cli_fail_library(failure);
    }
    return true;
}

bool cli_setup_gradient(cli_setup *setup, const char *problem, cli_failure *failure)
{
    rynd_expr *expr;
    if (!cli_is_problem(problem)) {
        return cli_fail_usage(
            failure,
            "--gradient needs an expression: give an expr problem (docs/problems.md), not '%s'",
            problem);
    }
    double begin = cli_now();
    if (rynd_expr_create(setup->context, problem, NULL, &expr) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool done = rynd_expr_create_gradient(expr, NULL, &setup->gradient) == RYND_OK ||
                      cli_fail_library(failure);
    rynd_expr_destroy(expr);
    setup->model = rynd_expr_model(setup->gradient);
    setup->load_time = cli_now() - begin;
    return done;
}

/* Does --dim say the size of a symbol? */
static bool is_given(const cli_common *common, const char *symbol)
{
    for (size_t i = 0; i < common->dims.count; i++) {
        if (strcmp(common->dims.items[i].symbol, symbol) == 0) {
            return true;
        }
    }
    return false;
}

/* The first input whose first dimension is open (name NULL: none), and whether one is fixed at
 * --batch. */
static bool look_at_batch(const rynd_model *model, const cli_common *common, rynd_value_info *open,
                          bool *fixed, cli_failure *failure)
{
    *open = (rynd_value_info){.name = NULL};
    *fixed = false;
    for (size_t i = 0; i < rynd_model_input_count(model); i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_input(model, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        const bool known = info.rank > 0 && (info.dim[0] >= 0 || is_given(common, info.symbol[0]));
        if (info.rank != 0 && !known && !open->name) {
            *open = info;
        }
        *fixed |= info.rank > 0 && info.dim[0] == common->batch;
    }
    return true;
}

bool cli_setup_batch(const rynd_model *model, const cli_common *common, int64_t *batch,
                     cli_failure *failure)
{
    rynd_value_info open;
    bool fixed;
    *batch = common->batch;
    if (!look_at_batch(model, common, &open, &fixed, failure)) {
        return false;
    }
    if (*batch == 0 && open.name && open.rank > 0) {
        *batch = 1;
        cli_note(
            common,
            "input '%s' leaves its first dimension open ('%s'): it is 1 here; --batch N changes it",
            open.name, open.symbol[0]);
    }
    /* The library leaves dims alone that a model fixes; a batch that changes nothing must not look
     * as if it did. */
    return *batch == 0 || open.name || fixed
               ? true
               : cli_fail_usage(failure,
                                "--batch %" PRId64
                                ": no input of the model leaves its first dimension open, and none "
                                "is of that size",
                                *batch);
}

bool cli_check_steps(const cli_common *common, cli_failure *failure)
{
    for (size_t i = 0; i < common->settings.count; i++) {
        const rynd_setting *set = &common->settings.items[i];
        if (!set->step) {
            return cli_fail_usage(failure, "--set %s=%s: name the step, too: --set STEP.%s=%s",
                                  set->knob, set->value, set->knob, set->value);
        }
    }
    return true;
}

bool cli_setup_plan_options(const cli_setup *setup, const cli_common *common,
                            const rynd_tensor *inputs, rynd_plan_options *options,
                            cli_failure *failure)
{
    *options = RYND_SIZED(
        rynd_plan_options, .accuracy = (rynd_accuracy)common->accuracy, .dims = common->dims.items,
        .dim_count = common->dims.count, .batch = common->batch, .inputs = inputs,
        .settings = common->settings.items, .setting_count = common->settings.count);
    return ((inputs && common->batch == 0) ||
            cli_setup_batch(setup->model, common, &options->batch, failure)) &&
           cli_check_steps(common, failure);
}

bool cli_setup_plan(cli_setup *setup, const cli_common *common, const rynd_tensor *inputs,
                    bool without_weights, cli_failure *failure)
{
    rynd_plan_options options;
    if (!cli_setup_plan_options(setup, common, inputs, &options, failure)) {
        return false;
    }
    options.without_weights = without_weights;
    if (rynd_plan_create(setup->model, &options, &setup->plan) != RYND_OK) {
        setup->plan = NULL;
        return cli_fail_library(failure);
    }
    return true;
}

void cli_setup_close_model(cli_setup *setup)
{
    rynd_plan_destroy(setup->plan);
    if (!setup->gradient) {
        rynd_model_destroy(setup->model);
    }
    rynd_expr_destroy(setup->gradient);
    setup->gradient = NULL;
    setup->plan = NULL;
    setup->model = NULL;
}

void cli_setup_close(cli_setup *setup)
{
    cli_setup_close_model(setup);
    rynd_context_destroy(setup->context);
    setup->context = NULL;
}

unsigned cli_constants_of(const char *problem)
{
    static const char *const weighted[] = {"conv ", "convt ", "matmul "};
    for (size_t i = 0; i < sizeof weighted / sizeof *weighted; i++) {
        if (strncmp(problem, weighted[i], strlen(weighted[i])) == 0 &&
            !strstr(problem, "dir=bwd")) {
            return 1u << 1 | 1u << 2; /* w and bias */
        }
    }
    return 0;
}

bool cli_setup_op(cli_setup *setup, const cli_common *common, const char *problem,
                  const rynd_tensor *inputs, rynd_op **op, cli_failure *failure)
{
    rynd_op_options options =
        RYND_SIZED(rynd_op_options, .accuracy = (rynd_accuracy)common->accuracy, .inputs = inputs,
                   .settings = common->settings.items, .setting_count = common->settings.count,
                   .constants = inputs ? 0 : cli_constants_of(problem));
    if (rynd_op_create(setup->context, problem, &options, op) != RYND_OK) {
        *op = NULL;
        return cli_fail_library(failure);
    }
    return true;
}

bool cli_is_problem(const char *text)
{
    return rynd_op_is_problem(text) && access(text, F_OK) != 0;
}

/* Kilobytes of a line of /proc/self/status; 0: there is none. */
static double status_kilobytes(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    double kilobytes = 0;
    while (file && kilobytes == 0 && fgets(line, sizeof line, file)) {
        const size_t length = strlen(name);
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            kilobytes = (double)strtoull(line + length + 1, NULL, 10);
        }
    }
    if (file) {
        fclose(file);
    }
    return kilobytes;
}

double cli_peak_memory(void)
{
    /* ru_maxrss survives exec, so it starts at the parent's peak */
    const double own = status_kilobytes("VmHWM");
    struct rusage usage;
    return own > 0                               ? 1024 * own
           : getrusage(RUSAGE_SELF, &usage) == 0 ? 1024.0 * (double)usage.ru_maxrss
                                                 : 0;
}

void cli_peak_memory_reset(void)
{
    /* proc(5): "5" makes the peak what is held now. Where that is refused the peak stays that of
     * the whole process. */
    FILE *file = fopen("/proc/self/clear_refs", "w");
    if (file) {
        fputs("5", file);
        fclose(file);
    }
}
