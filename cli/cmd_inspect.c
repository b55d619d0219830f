/* SPDX-License-Identifier: Apache-2.0 */
/* rynd inspect: prints a model's contents, without running it. */
#include "commands.h"
#include "inspect_list.h"
#include "json_out.h"
#include "line.h"
#include "setup.h"
#include "table.h"
#include "wording.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct inspect_settings {
    cli_common common;
    bool layers, parameters;
} inspect_settings;

/* clang-format off */
static const cli_option options[] = {
    {"layers", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(inspect_settings, layers),
     "list the nodes, as rynd reads them, with the shapes of their outputs"},
    {"parameters", 0, CLI_FLAG, NULL, NULL, 0, 0, offsetof(inspect_settings, parameters),
     "list the parameters by the names that `rynd train --freeze` and `--train-only` match"},
    {0},
};
/* clang-format on */

typedef rynd_status (*value_function)(const rynd_model *model, size_t index, rynd_value_info *info);
typedef rynd_status (*planned_function)(const rynd_plan *plan, size_t index, rynd_tensor *tensor);

/* Inputs or outputs; with a plan (--dim, --batch) their shapes are the planned ones. */
typedef struct side {
    const char *title, *key;
    size_t (*count)(const rynd_model *model);
    value_function value;
    planned_function planned;
} side;

static const side sides[] = {
    {"input", "inputs", rynd_model_input_count, rynd_model_get_input, rynd_plan_get_input},
    {"output", "outputs", rynd_model_output_count, rynd_model_get_output, rynd_plan_get_output},
};

static bool get_value(const cli_setup *setup, const side *s, size_t index, rynd_value_info *info,
                      cli_failure *failure)
{
    *info = RYND_SIZED(rynd_value_info);
    if (s->value(setup->model, index, info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    rynd_tensor tensor;
    if (setup->plan) {
        if (s->planned(setup->plan, index, &tensor) != RYND_OK) {
            return cli_fail_library(failure);
        }
        info->rank = tensor.rank;
        memcpy(info->dim, tensor.dim, sizeof info->dim);
    }
    return true;
}

static bool get_macs(const cli_setup *setup, int64_t *macs, cli_failure *failure)
{
    if (!setup->plan) {
        return true;
    }
    double flop = 0;
    for (size_t i = 0; i < rynd_plan_step_count(setup->plan); i++) {
        rynd_step_info step = RYND_SIZED(rynd_step_info);
        if (rynd_plan_get_step(setup->plan, i, &step) != RYND_OK) {
            return cli_fail_library(failure);
        }
        flop += step.flop;
    }
    *macs = (int64_t)(flop / 2);
    return true;
}

static bool print_side(const cli_setup *setup, const side *s, cli_failure *failure)
{
    const char *const head[] = {s->title, "shape", "dtype"};
    cli_table table;
    cli_table_begin(&table, "lll", head);
    for (size_t i = 0; i < s->count(setup->model); i++) {
        rynd_value_info info;
        if (!get_value(setup, s, i, &info, failure)) {
            cli_table_print(&table, NULL);
            return false;
        }
        cli_table_add(&table, "%s", info.name);
        cli_table_add(&table, "%s", cli_shape_of_value(&info).text);
        cli_table_add(&table, "%s", rynd_dtype_name(info.dtype));
    }
    bool done = cli_table_print(&table, stdout);
    putchar('\n');
    return done ? true : cli_fail_memory(failure);
}

static bool get_quantization(const cli_setup *setup, rynd_quantization *q, cli_failure *failure)
{
    *q = RYND_SIZED(rynd_quantization);
    return rynd_model_get_quantization(setup->model, q) == RYND_OK || cli_fail_library(failure);
}

static const char *type_name(rynd_dtype dtype)
{
    return dtype == RYND_DTYPE_NONE ? "of several types" : rynd_dtype_name(dtype);
}

static bool print_quantization(const cli_setup *setup, cli_failure *failure)
{
    rynd_quantization q;
    if (!get_quantization(setup, &q, failure)) {
        return false;
    }
    if (q.quantized) {
        printf("quantised (%s): %zu of %zu layers, %zu with scales per channel, weights %s, "
               "activations %s\n",
               q.form, q.quantized, q.layers, q.per_channel, type_name(q.weights),
               type_name(q.activations));
    }
    return true;
}

/* "quantization": null, or its facts. */
static bool add_quantization(const cli_setup *setup, cJSON *result, cli_failure *failure)
{
    rynd_quantization q;
    if (!get_quantization(setup, &q, failure)) {
        return false;
    }
    cJSON *item = q.quantized ? cJSON_AddObjectToObject(result, "quantization") : NULL;
    if (!item) {
        cJSON_AddNullToObject(result, "quantization");
        return true;
    }
    cli_json_text(item, "form", q.form);
    cli_json_number(item, "layers", (double)q.layers);
    cli_json_number(item, "quantized", (double)q.quantized);
    cli_json_number(item, "per_channel", (double)q.per_channel);
    cli_json_text(item, "weights", q.weights ? rynd_dtype_name(q.weights) : NULL);
    cli_json_text(item, "activations", q.activations ? rynd_dtype_name(q.activations) : NULL);
    return true;
}

/* A line an entry, cut where it is long: class names of ImageNet are 30 KiB. */
static bool print_metadata(const cli_setup *setup, cli_failure *failure)
{
    static const char *const head[] = {"metadata", "value"};
    const size_t count = rynd_model_metadata_count(setup->model);
    if (count == 0) {
        return true;
    }
    cli_table table;
    cli_table_begin(&table, "ll", head);
    for (size_t i = 0; i < count; i++) {
        rynd_metadata entry = RYND_SIZED(rynd_metadata);
        enum { WIDTH = 70 };
        if (rynd_model_get_metadata(setup->model, i, &entry) != RYND_OK) {
            cli_table_print(&table, NULL);
            return cli_fail_library(failure);
        }
        cli_table_add(&table, "%.40s", entry.key);
        cli_table_add(&table, "%.*s%s", WIDTH, entry.value,
                      strlen(entry.value) > WIDTH ? "..." : "");
    }
    putchar('\n');
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

static bool add_metadata(const cli_setup *setup, cJSON *result, cli_failure *failure)
{
    cJSON *metadata = cJSON_AddObjectToObject(result, "metadata");
    for (size_t i = 0; i < rynd_model_metadata_count(setup->model); i++) {
        rynd_metadata entry = RYND_SIZED(rynd_metadata);
        if (rynd_model_get_metadata(setup->model, i, &entry) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cli_json_text(metadata, entry.key, entry.value);
    }
    return true;
}

static bool print_text(const cli_setup *setup, const char *path, const rynd_model_info *info,
                       int64_t macs, cli_failure *failure)
{
    static const char *const head[] = {"operator", "nodes"};
    cli_line(stdout, "%s%s%s%s%s", path, *info->name ? ": " : "", info->name,
             *info->producer ? ", made by " : "", info->producer);
    putchar('\n');
    if (!print_side(setup, &sides[0], failure) || !print_side(setup, &sides[1], failure)) {
        return false;
    }
    cli_table table;
    cli_table_begin(&table, "lr", head);
    for (size_t i = 0; i < info->operator_count; i++) {
        const char *name = "";
        size_t count = 0;
        rynd_model_get_operator(setup->model, i, &name, &count);
        cli_table_add(&table, "%s", name);
        cli_table_add(&table, "%zu", count);
    }
    if (!cli_table_print(&table, stdout)) {
        return cli_fail_memory(failure);
    }
    printf("\nnodes %zu, parameters %" PRId64 " (%s), ", info->node_count, info->parameters,
           cli_word_count((double)info->parameters).text);
    if (macs >= 0) {
        printf("multiply-adds %" PRId64 " (%s)", macs, cli_word_count((double)macs).text);
    } else {
        printf("multiply-adds unknown until shapes are given");
    }
    printf(", opset %" PRId64 ", IR version %" PRId64 "\n", info->opset, info->ir_version);
    return print_quantization(setup, failure) && print_metadata(setup, failure);
}

static bool print_json(const cli_setup *setup, const char *path, const rynd_model_info *info,
                       int64_t macs, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("inspect", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", path);
    for (size_t s = 0; s < sizeof sides / sizeof *sides; s++) {
        cJSON *array = cJSON_AddArrayToObject(result, sides[s].key);
        for (size_t i = 0; i < sides[s].count(setup->model); i++) {
            rynd_value_info value;
            if (!get_value(setup, &sides[s], i, &value, failure)) {
                cJSON_Delete(document);
                return false;
            }
            cli_json_value(array, &value);
        }
    }
    cJSON *operators = cJSON_AddObjectToObject(result, "operators");
    for (size_t i = 0; i < info->operator_count; i++) {
        const char *name = "";
        size_t count = 0;
        rynd_model_get_operator(setup->model, i, &name, &count);
        cli_json_number(operators, name, (double)count);
    }
    cli_json_number(result, "parameters", (double)info->parameters);
    cJSON_AddItemToObject(result, "macs",
                          macs >= 0 ? cJSON_CreateNumber((double)macs) : cJSON_CreateNull());
    cli_json_number(result, "opset", (double)info->opset);
    cli_json_number(result, "ir_version", (double)info->ir_version);
    cli_json_text(result, "producer", info->producer);
    if (!add_quantization(setup, result, failure) || !add_metadata(setup, result, failure)) {
        cJSON_Delete(document);
        return false;
    }
    return cli_json_print(document, failure);
}

static bool inspect(const inspect_settings *settings, cli_setup *setup, cli_failure *failure)
{
    const cli_common *common = &settings->common;
    const char *path = common->arguments.items[0];
    rynd_model_info info = RYND_SIZED(rynd_model_info);
    if (!cli_setup_context(setup, common, failure) || !cli_setup_model(setup, path, failure)) {
        return false;
    }
    if (rynd_model_get_info(setup->model, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if ((common->dims.count > 0 || common->batch > 0 || common->accuracy) &&
        !cli_setup_plan(setup, common, NULL, true, failure)) {
        return false;
    }
    if (settings->layers || settings->parameters) {
        return cli_inspect_list(setup, settings->layers, settings->parameters, common->json,
                                failure);
    }
    int64_t macs = info.macs;
    if (!get_macs(setup, &macs, failure)) {
        return false;
    }
    return common->json ? print_json(setup, path, &info, macs, failure)
                        : print_text(setup, path, &info, macs, failure);
}

static bool run(void *settings, cli_failure *failure)
{
    cli_setup setup = {0};
    bool done = inspect(settings, &setup, failure);
    cli_setup_close(&setup);
    return done;
}

const cli_command cli_command_inspect = {
    .name = "inspect",
    .arguments = "MODEL",
    .least = 1,
    .most = 1,
    .help = "show a model's inputs, outputs, operators, parameters and multiply-adds",
    .text = "Open dimensions count as 1 in multiply-adds, unless --dim or --batch give their "
            "sizes.",
    .examples = "rynd inspect model.onnx\n"
                "rynd inspect model.onnx --parameters",
    .options = options,
    .uses = CLI_USE_DIMS | CLI_USE_TABLES,
    .settings_size = sizeof(inspect_settings),
    .run = run,
};
