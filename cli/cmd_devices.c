/* SPDX-License-Identifier: Apache-2.0 */
/* rynd devices: what there is to run on, and what it reaches. */
#include "commands.h"
#include "json_out.h"
#include "progress.h"
#include "setup.h"
#include "wording.h"

#include <stdio.h>

static const cli_option options[] = {{0}};

static bool print_json(const rynd_device_info *info, const rynd_device_peaks *peaks, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("devices", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "device", info->device);
    cli_json_text(result, "name", info->name);
    cli_json_text(result, "isa", info->isa);
    cli_json_number(result, "cores", info->cores);
    cli_json_number(result, "threads", info->threads);
    cJSON *caches = cJSON_AddObjectToObject(result, "caches");
    cli_json_number(caches, "l1", (double)peaks->l1);
    cli_json_number(caches, "l2", (double)peaks->l2);
    cli_json_number(caches, "l3", (double)peaks->l3);
    cli_json_number(cJSON_AddObjectToObject(result, "peak"), "f32", peaks->f32);
    cli_json_number(cJSON_AddObjectToObject(result, "peak_one_thread"), "f32", peaks->f32_one_thread);
    cJSON *bandwidth = cJSON_AddObjectToObject(result, "bandwidth");
    const struct {
        const char *key;
        double rate;
    } levels[] = {{"l1", peaks->bandwidth_l1}, {"l2", peaks->bandwidth_l2}, {"l3", peaks->bandwidth_l3}, {"dram", peaks->bandwidth_dram}};
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        cJSON_AddItemToObject(bandwidth, levels[i].key, levels[i].rate > 0 ? cJSON_CreateNumber(levels[i].rate) : cJSON_CreateNull());
    }
    return cli_json_print(document, failure);
}

static void print_level(const char *name, size_t bytes, double rate)
{
    if (rate > 0) {
        printf("  %-6s%-12s%s\n", name, bytes ? cli_word_bytes((double)bytes).text : "", cli_word_rate(rate, "B/s").text);
    }
}

static void print_text(const rynd_device_info *info, const rynd_device_peaks *peaks)
{
    printf("%s: %s\n", info->device, info->name);
    printf("  isa %s, cores %u, threads %u\n", info->isa, info->cores, info->threads);
    printf("peak of float32 multiply-adds (each counts as two)\n");
    printf("  one thread        %s\n", cli_word_rate(peaks->f32_one_thread, "flop/s").text);
    printf("  %4u thread%s      %s\n", info->threads, info->threads == 1 ? " " : "s", cli_word_rate(peaks->f32, "flop/s").text);
    printf("reading on all threads\n");
    print_level("l1", peaks->l1, peaks->bandwidth_l1);
    print_level("l2", peaks->l2, peaks->bandwidth_l2);
    print_level("l3", peaks->l3, peaks->bandwidth_l3);
    print_level("dram", 0, peaks->bandwidth_dram);
}

static bool devices(const cli_common *common, cli_setup *setup, cli_failure *failure)
{
    rynd_device_info info = {.size = sizeof info};
    rynd_device_peaks peaks = {.size = sizeof peaks};
    if (!cli_setup_context(setup, common, failure)) {
        return false;
    }
    cli_progress progress;
    cli_progress_begin(&progress, common);
    cli_progress_show(&progress, "measuring", 0.1);
    bool done = rynd_context_info(setup->context, &info) == RYND_OK && rynd_context_measure(setup->context, &peaks) == RYND_OK;
    cli_progress_end(&progress);
    if (!done) {
        return cli_fail_library(failure);
    }
    if (common->json) {
        return print_json(&info, &peaks, failure);
    }
    print_text(&info, &peaks);
    return true;
}

static bool run(void *settings, cli_failure *failure)
{
    cli_setup setup = {0};
    bool done = devices(settings, &setup, failure);
    cli_setup_close(&setup);
    return done;
}

const cli_command cli_command_devices = {
    .name = "devices",
    .help = "show devices with their measured peaks and bandwidths",
    .text = "Measures for about half a second; nothing else should run meanwhile.",
    .options = options,
    .settings_size = sizeof(cli_common),
    .run = run,
};
