/* SPDX-License-Identifier: Apache-2.0 */
/* rynd devices: what there is to run on, and what it reaches. */
#include "commands.h"
#include "ending.h"
#include "json_out.h"
#include "line.h"
#include "progress.h"
#include "setup.h"
#include "table.h"
#include "wording.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

static const cli_option options[] = {{0}};

typedef struct level {
    const char *key;
    size_t bytes;
    double one, all;
} level;

enum { LEVELS = 4 };

static void find_levels(const rynd_device_peaks *p, level levels[LEVELS])
{
    levels[0] = (level){"l1", p->l1, p->bandwidth_l1_one_thread, p->bandwidth_l1};
    levels[1] = (level){"l2", p->l2, p->bandwidth_l2_one_thread, p->bandwidth_l2};
    levels[2] = (level){"l3", p->l3, p->bandwidth_l3_one_thread, p->bandwidth_l3};
    levels[3] = (level){"dram", 0, p->bandwidth_dram_one_thread, p->bandwidth_dram};
}

static void add_rate(cJSON *object, const char *key, double rate)
{
    cJSON_AddItemToObject(object, key, rate > 0 ? cJSON_CreateNumber(rate) : cJSON_CreateNull());
}

static bool print_json(const rynd_device_info *info, const rynd_device_peaks *peaks, const char *kept, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("devices", &results);
    cJSON *result = cli_json_object_in(results);
    level levels[LEVELS];
    find_levels(peaks, levels);
    cli_json_text(result, "device", info->device);
    cli_json_text(result, "name", info->name);
    cli_json_text(result, "isa", info->isa);
    cli_json_number(result, "cores", info->cores);
    cli_json_number(result, "threads", info->threads);
    cJSON *caches = cJSON_AddObjectToObject(result, "caches");
    for (int i = 0; i < LEVELS - 1; i++) {
        cli_json_number(caches, levels[i].key, (double)levels[i].bytes);
    }
    cJSON *peak = cJSON_AddObjectToObject(result, "peak"), *one = cJSON_AddObjectToObject(result, "peak_one_thread");
    add_rate(peak, "f32", peaks->f32);
    add_rate(peak, "bf16", peaks->bf16);
    add_rate(one, "f32", peaks->f32_one_thread);
    add_rate(one, "bf16", peaks->bf16_one_thread);
    cJSON *bandwidth = cJSON_AddObjectToObject(result, "bandwidth"), *alone = cJSON_AddObjectToObject(result, "bandwidth_one_thread");
    for (int i = 0; i < LEVELS; i++) {
        add_rate(bandwidth, levels[i].key, levels[i].all);
        add_rate(alone, levels[i].key, levels[i].one);
    }
    cli_json_text(result, "profile", kept);
    return cli_json_print(document, failure);
}

static void add_row(cli_table *table, const char *what, size_t bytes, double one, double all, const char *unit)
{
    if (all > 0) {
        cli_table_add(table, "%s", what);
        cli_table_add(table, "%s", bytes ? cli_word_bytes((double)bytes).text : "");
        cli_table_add(table, "%s", cli_word_rate(one, unit).text);
        cli_table_add(table, "%s", cli_word_rate(all, unit).text);
    }
}

static bool print_text(const rynd_device_info *info, const rynd_device_peaks *peaks, cli_failure *failure)
{
    char all[32];
    snprintf(all, sizeof all, "%u thread%s", info->threads, info->threads == 1 ? "" : "s");
    const char *const head[] = {"", "of", "1 thread", all};
    level levels[LEVELS];
    find_levels(peaks, levels);
    cli_line(stdout, "%s: %s, isa %s, cores %u, threads %u", info->device, info->name, info->isa, info->cores, info->threads);
    cli_table table;
    cli_table_begin(&table, "lrrr", head);
    add_row(&table, "f32 multiply-add", 0, peaks->f32_one_thread, peaks->f32, "flop/s");
    add_row(&table, "bf16 dot product", 0, peaks->bf16_one_thread, peaks->bf16, "flop/s");
    for (int i = 0; i < LEVELS; i++) {
        char what[32];
        snprintf(what, sizeof what, "read %s", levels[i].key);
        add_row(&table, what, levels[i].bytes, levels[i].one, levels[i].all, "B/s");
    }
    return cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
}

/* What else the machine does can only lower a figure, and may last for a second: the best of several times. */
enum { TIMES = 5 };

static void take_best(rynd_device_peaks *best, const rynd_device_peaks *p)
{
    static const size_t rates[] = {
        offsetof(rynd_device_peaks, f32_one_thread),
        offsetof(rynd_device_peaks, f32),
        offsetof(rynd_device_peaks, bf16_one_thread),
        offsetof(rynd_device_peaks, bf16),
        offsetof(rynd_device_peaks, bandwidth_l1_one_thread),
        offsetof(rynd_device_peaks, bandwidth_l1),
        offsetof(rynd_device_peaks, bandwidth_l2_one_thread),
        offsetof(rynd_device_peaks, bandwidth_l2),
        offsetof(rynd_device_peaks, bandwidth_l3_one_thread),
        offsetof(rynd_device_peaks, bandwidth_l3),
        offsetof(rynd_device_peaks, bandwidth_dram_one_thread),
        offsetof(rynd_device_peaks, bandwidth_dram),
    };
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        double *to = (double *)(void *)((char *)best + rates[i]), rate;
        memcpy(&rate, (const char *)p + rates[i], sizeof rate);
        *to = rate > *to ? rate : *to;
    }
}

static bool measure(const cli_setup *setup, const cli_common *common, rynd_device_peaks *best)
{
    bool done = true;
    cli_progress progress;
    cli_progress_begin(&progress, common);
    for (int i = 0; i < TIMES && done; i++) {
        rynd_device_peaks peaks = {.size = sizeof peaks};
        cli_progress_show(&progress, "measuring", (i + 0.5) / TIMES);
        done = rynd_context_measure(setup->context, &peaks) == RYND_OK;
        if (i == 0) {
            *best = peaks;
        } else {
            take_best(best, &peaks);
        }
    }
    cli_progress_end(&progress);
    return done;
}

/* Measured with fewer threads than cores, or with RYND_PROFILE=off, it is only shown. */
static bool keep(const cli_setup *setup, const rynd_device_peaks *peaks, const char **kept, cli_failure *failure)
{
    sigset_t before;
    cli_ending_hold(&before); /* the library removes what it writes aside, but not when the process ends meanwhile */
    const rynd_status status = rynd_context_keep_peaks(setup->context, peaks, kept);
    cli_ending_release(&before);
    return status == RYND_OK || status == RYND_ERROR_ARGUMENT ? true : cli_fail_library(failure);
}

static bool devices(const cli_common *common, cli_setup *setup, cli_failure *failure)
{
    rynd_device_info info = {.size = sizeof info};
    rynd_device_peaks peaks = {.size = sizeof peaks};
    if (!cli_setup_context(setup, common, failure)) {
        return false;
    }
    const bool done = rynd_context_info(setup->context, &info) == RYND_OK && measure(setup, common, &peaks);
    const char *kept = NULL;
    if (!done) {
        return cli_fail_library(failure);
    }
    if (!keep(setup, &peaks, &kept, failure)) {
        return false;
    }
    if (common->json) {
        return print_json(&info, &peaks, kept, failure);
    }
    if (!print_text(&info, &peaks, failure)) {
        return false;
    }
    if (kept) {
        cli_line(stdout, "kept for predictions in %s", kept);
    } else {
        printf("not kept: that needs all cores, and a place (RYND_PROFILE)\n");
    }
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
    .text =
        "Measures for about ten seconds; nothing else should run meanwhile. What is measured on all cores is kept for the predictions of\n"
        "later plans, in the file RYND_PROFILE (off: not kept), or under XDG_CACHE_HOME or HOME/.cache.",
    .options = options,
    .settings_size = sizeof(cli_common),
    .run = run,
};
