/* SPDX-License-Identifier: Apache-2.0 */
/* The data of a page: machine, memory, and each step with its operands, limit and prediction. */
#include "json_out.h"
#include "page.h"

#include <rynd/trace.h>
#include <stddef.h>

static void add_prediction(cJSON *object, const char *key, const rynd_prediction *p)
{
    cJSON *o = cJSON_AddObjectToObject(object, key);
    cli_json_number(o, "median", p->median);
    cli_json_number(o, "low", p->low);
    cli_json_number(o, "high", p->high);
    cli_json_number(o, "arithmetic", p->arithmetic);
    cli_json_number(o, "memory", p->memory);
    cli_json_number(o, "overhead", p->overhead);
}

static void add_operand(cJSON *operands, const rynd_operand_info *info)
{
    static const char *const storages[] = {"packed", "input", "constant", "arena", "output"};
    cJSON *o = cli_json_object_in(operands);
    const bool present = info->tensor.dtype != RYND_DTYPE_NONE;
    cli_json_text(o, "name", info->name);
    cJSON_AddBoolToObject(o, "output", info->output);
    cli_json_text(o, "dtype", present ? rynd_dtype_name(info->tensor.dtype) : NULL);
    cli_json_shape(o, &info->tensor);
    cli_json_text(o, "storage", storages[info->storage]);
    cli_json_number(o, "offset", (double)info->offset);
    cli_json_number(o, "bytes", (double)info->bytes);
    cJSON_AddItemToObject(o, "producer",
                          info->producer == RYND_NO_STEP
                              ? cJSON_CreateNull()
                              : cJSON_CreateNumber((double)info->producer));
}

static bool add_operands(const rynd_plan *plan, size_t step, cJSON *object, cli_failure *failure)
{
    cJSON *operands = cJSON_AddArrayToObject(object, "operands");
    for (size_t i = 0; i < rynd_plan_operand_count(plan, step); i++) {
        rynd_operand_info info = RYND_SIZED(rynd_operand_info);
        if (rynd_plan_get_operand(plan, step, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        add_operand(operands, &info);
    }
    return true;
}

static bool add_step(const rynd_plan *plan, const cli_limit *limit, size_t index, cJSON *steps,
                     cli_failure *failure)
{
    rynd_step_info step = RYND_SIZED(rynd_step_info);
    rynd_prediction prediction = RYND_SIZED(rynd_prediction);
    if (rynd_plan_get_step(plan, index, &step) != RYND_OK ||
        rynd_plan_predict_step(plan, index, &prediction) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cJSON *o = cli_json_object_in(steps);
    const struct {
        const char *key, *text;
    } texts[] = {
        {"name", step.name},
        {"op", step.op},
        {"kernel", step.kernel},
        {"knobs", step.knobs},
        {"problem", step.problem},
        {"layout_in", step.layout_in},
        {"layout_out", step.layout_out},
        {"fused", step.fused},
        {"reason", step.reason},
        {"accuracy", step.accuracy},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        cli_json_text(o, texts[i].key, texts[i].text);
    }
    cli_json_number(o, "flop", step.flop);
    cli_json_number(o, "kernel_flop", step.kernel_flop);
    cli_json_number(o, "bytes", step.bytes);
    cli_json_number(o, "micro_batches", (double)step.micro_batches);
    cli_json_number(o, "activations", (double)step.activations);
    cli_json_number(o, "workspace", (double)step.workspace);
    cJSON_AddBoolToObject(o, "reference", step.reference);
    const double seconds = cli_limit_of(limit, &step);
    cJSON_AddItemToObject(o, "limit",
                          seconds > 0 ? cJSON_CreateNumber(seconds) : cJSON_CreateNull());
    add_prediction(o, "predicted", &prediction);
    return add_operands(plan, index, o, failure);
}

/* The roofs: peaks, and the bandwidth of each level. */
static void add_roofline(cJSON *data, const cli_limit *limit)
{
    static const char *const names[] = {"L1", "L2", "L3", "memory"};
    cJSON *roofline = cJSON_AddObjectToObject(data, "roofline");
    cli_json_number(roofline, "f32", cli_limit_rate(limit, &limit->machine.f32));
    cli_json_number(roofline, "int8", cli_limit_rate(limit, &limit->machine.int8));
    cJSON *levels = cJSON_AddArrayToObject(roofline, "levels");
    for (size_t i = 0; i <= RYND_LEVEL_DRAM; i++) {
        cJSON *level = cli_json_object_in(levels);
        cli_json_text(level, "name", names[i]);
        cli_json_number(level, "bandwidth",
                        cli_limit_rate(limit, &limit->machine.level[i].bandwidth));
    }
}

static bool fill(cJSON *data, const cli_setup *setup, const cli_limit *limit, cli_failure *failure)
{
    static const char *const origins[] = {"built in", "measured", "from a file"};
    rynd_device_info device = RYND_SIZED(rynd_device_info);
    rynd_memory memory = RYND_SIZED(rynd_memory);
    rynd_prediction all = RYND_SIZED(rynd_prediction);
    if (rynd_context_get_info(setup->context, &device) != RYND_OK ||
        rynd_plan_get_memory(setup->plan, &memory) != RYND_OK ||
        rynd_plan_predict(setup->plan, &all) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cli_json_text(data, "device", device.name);
    cli_json_text(data, "isa", device.isa);
    cli_json_text(data, "machine", origins[limit->machine.origin]);
    cli_json_number(data, "threads", (double)device.threads);
    cli_json_memory(data, "memory", &memory);
    add_prediction(data, "predicted", &all);
    add_roofline(data, limit);
    cJSON *steps = cJSON_AddArrayToObject(data, "steps");
    for (size_t i = 0; i < rynd_plan_step_count(setup->plan); i++) {
        if (!add_step(setup->plan, limit, i, steps, failure)) {
            return false;
        }
    }
    return true;
}

cJSON *cli_page_data(const cli_setup *setup, const cli_limit *limit, const char *model,
                     cli_failure *failure)
{
    cJSON *data = cli_json_document();
    cli_json_text(data, "rynd", rynd_version());
    cli_json_text(data, "kind", "plan");
    cli_json_text(data, "model", model);
    if (!fill(data, setup, limit, failure)) {
        cJSON_Delete(data);
        return NULL;
    }
    return data;
}
