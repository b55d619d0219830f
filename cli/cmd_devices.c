/* SPDX-License-Identifier: Apache-2.0 */
/* rynd devices: lists devices, with peaks, caches and bandwidths. */
#include "calibration_report.h"
#include "cards.h"
#include "check_report.h"
#include "commands.h"
#include "ending.h"
#include "json_out.h"
#include "line.h"
#include "notes.h"
#include "progress.h"
#include "setup.h"
#include "table.h"
#include "wording.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct devices_settings {
    cli_common common;
    bool measure, calibrate, check, cards;
    double budget;
    const char *export;
} devices_settings;

#define OFFSET(field) offsetof(devices_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"measure", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(measure),
     "measure this machine, and store the result for later plans"},
    {"calibrate", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(calibrate),
     "time every family of kernels, fit predictions to this machine, and store the result"},
    {"budget", 0, CLI_NUMBER, "S", NULL, 0, 86400, OFFSET(budget),
     "most seconds of --calibrate, without measuring rates; more cover more problems on a device "
     "that compiles (default 90)"},
    {"check", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(check),
     "test every kernel of the device on known answers; later plans avoid kernels that fail"},
    {"cards", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(cards),
     "list the cards that --machine knows by name, whatever is in this machine"},
    {"export", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(export),
     "write the machine to FILE, for --machine on another machine"},
    {0},
};
/* clang-format on */

static const char *const origins[RYND_MACHINE_ORIGINS] = {"built-in", "measured", "imported"};
static const char *const levels[RYND_LEVELS] = {"l1", "l2", "l3", "dram"};
static const char *const energies[RYND_ENERGY_KINDS] = {"f32",   "bf16",  "int8",
                                                        "other", "cache", "memory"};
static const char *const kinds[RYND_KINDS] = {"add",     "divide", "load",   "split",
                                              "gather",  "store",  "masked", "permute",
                                              "convert", "scalar", "chain",  "call"};

/* The arithmetic that has a peak. */
typedef struct peak {
    const char *key, *what, *unit;
    rynd_rate rate;
} peak;

enum { PEAKS = 3 };

static void find_peaks(const rynd_machine *m, peak peaks[PEAKS])
{
    peaks[0] = (peak){"f32", "f32 multiply-add", "flop/s", m->f32};
    peaks[1] = (peak){"bf16", "bf16 dot product", "flop/s", m->bf16};
    peaks[2] = (peak){"int8", "int8 dot product", "op/s", m->int8};
}

static void add_rate(cJSON *object, const char *key, double rate)
{
    cJSON_AddItemToObject(object, key, rate > 0 ? cJSON_CreateNumber(rate) : cJSON_CreateNull());
}

/* Adds a rate of all memory levels as two objects: for all threads, and for one. */
static void add_levels(cJSON *result, const char *key, const rynd_machine *m, size_t offset)
{
    char alone[32];
    snprintf(alone, sizeof alone, "%s_one_thread", key);
    cJSON *all = cJSON_AddObjectToObject(result, key),
          *one = cJSON_AddObjectToObject(result, alone);
    for (int i = 0; i < RYND_LEVELS; i++) {
        rynd_rate rate;
        memcpy(&rate, (const char *)&m->level[i] + offset, sizeof rate);
        add_rate(all, levels[i], rate.all);
        add_rate(one, levels[i], rate.one);
    }
}

/* null: there is no meter, or energy by kind was not calibrated. */
static void add_power(cJSON *result, const rynd_machine *m)
{
    cJSON *watts = *m->meter ? cJSON_AddObjectToObject(result, "watts") : NULL;
    if (watts) {
        cli_json_number(watts, "one_thread", m->watts.one);
        cli_json_number(watts, "all", m->watts.all);
        cli_json_number(watts, "memory_one_thread", m->memory_watts.one);
        cli_json_number(watts, "memory_all", m->memory_watts.all);
        cli_json_text(watts, "meter", m->meter);
    } else {
        cJSON_AddNullToObject(result, "watts");
    }
    cJSON *energy = m->energy_spread > 0 ? cJSON_AddObjectToObject(result, "energy") : NULL;
    if (!energy) {
        cJSON_AddNullToObject(result, "energy");
        return;
    }
    cli_json_number(energy, "static_watts_one_thread", m->static_watts.one);
    cli_json_number(energy, "static_watts", m->static_watts.all);
    for (int i = 0; i < RYND_ENERGY_KINDS; i++) {
        cli_json_number(energy, energies[i], m->energy[i]);
    }
    cli_json_number(energy, "spread", m->energy_spread);
}

static cJSON *add_json(cJSON *results, const char *device, const rynd_device_info *info,
                       const rynd_machine *m, const char *file)
{
    cJSON *result = cli_json_object_in(results);
    peak peaks[PEAKS];
    find_peaks(m, peaks);
    cli_json_text(result, "device", device);
    cli_json_text(result, "name", m->name);
    cli_json_text(result, "architecture", m->architecture);
    cli_json_text(result, "isa", m->isa);
    cli_json_number(result, "cores", m->cores);
    cli_json_number(result, "threads", info->threads);
    cli_json_number(result, "vector_bytes", m->vector_bytes);
    cli_json_number(result, "vector_registers", m->vector_registers);
    cli_json_number(result, "huge_page", (double)m->huge_page_bytes);
    cJSON *caches = cJSON_AddObjectToObject(result, "caches"),
          *shared = cJSON_AddObjectToObject(result, "shared_by");
    for (int i = 0; i < RYND_LEVEL_DRAM; i++) {
        cli_json_number(caches, levels[i], (double)m->level[i].bytes);
        cli_json_number(shared, levels[i], m->level[i].shared_by);
    }
    cJSON *all = cJSON_AddObjectToObject(result, "peak"),
          *one = cJSON_AddObjectToObject(result, "peak_one_thread");
    for (int i = 0; i < PEAKS; i++) {
        add_rate(all, peaks[i].key, peaks[i].rate.all);
        add_rate(one, peaks[i].key, peaks[i].rate.one);
    }
    add_levels(result, "bandwidth", m, offsetof(rynd_memory_level, bandwidth));
    add_levels(result, "latency", m, offsetof(rynd_memory_level, latency));
    all = cJSON_AddObjectToObject(result, "kinds");
    one = cJSON_AddObjectToObject(result, "kinds_one_thread");
    for (int i = 0; i < RYND_KINDS; i++) {
        add_rate(all, kinds[i], m->kind[i].all);
        add_rate(one, kinds[i], m->kind[i].one);
    }
    cli_json_number(result, "task", m->task_seconds);
    cli_json_number(result, "region", m->region_seconds);
    cli_json_number(result, "transfer", m->transfer_seconds);
    add_rate(result, "upload", m->upload_rate);
    add_rate(result, "download", m->download_rate);
    add_rate(result, "copy", m->copy_seconds);
    add_power(result, m);
    cli_json_text(result, "origin", origins[m->origin]);
    cli_json_number(result, "disturbance", m->disturbance);
    cli_json_number(result, "variation", m->variation);
    cli_json_text(result, "machine", file);
    cli_json_text(result, "fingerprint", info->fingerprint);
    return result;
}

static void add_row(cli_table *table, const char *what, const char *of, cli_word one, cli_word all)
{
    cli_table_add(table, "%s", what);
    cli_table_add(table, "%s", of);
    cli_table_add(table, "%s", one.text);
    cli_table_add(table, "%s", all.text);
}

static void add_level_rows(cli_table *table, const rynd_machine *m)
{
    for (int i = 0; i < RYND_LEVELS; i++) {
        const rynd_memory_level *level = &m->level[i];
        char what[32], of[64] = "";
        if (level->bytes) {
            snprintf(of, sizeof of, "%s%s", cli_word_bytes((double)level->bytes).text,
                     level->shared_by > 1 ? ", shared" : "");
        }
        if (level->bandwidth.all > 0) {
            snprintf(what, sizeof what, "read %s", levels[i]);
            add_row(table, what, of, cli_word_rate(level->bandwidth.one, "B/s"),
                    cli_word_rate(level->bandwidth.all, "B/s"));
        }
        if (level->latency.all > 0) {
            snprintf(what, sizeof what, "latency %s", levels[i]);
            add_row(table, what, "", cli_word_seconds(level->latency.one),
                    cli_word_seconds(level->latency.all));
        }
    }
}

static void add_power_rows(cli_table *table, const rynd_machine *m)
{
    if (*m->meter) {
        add_row(table, "power", m->meter, cli_word_rate(m->watts.one, "W"),
                cli_word_rate(m->watts.all, "W"));
        add_row(table, "power, memory", m->meter, cli_word_rate(m->memory_watts.one, "W"),
                cli_word_rate(m->memory_watts.all, "W"));
    }
    if (m->energy_spread <= 0) {
        return;
    }
    add_row(table, "power, static", "", cli_word_rate(m->static_watts.one, "W"),
            cli_word_rate(m->static_watts.all, "W"));
    for (int i = 0; i < RYND_ENERGY_KINDS; i++) {
        cli_word joules;
        snprintf(joules.text, sizeof joules.text, "%.3g pJ", 1e12 * m->energy[i]);
        add_row(table, "energy", energies[i], (cli_word){""}, joules);
    }
}

static bool print_text(const char *device, const rynd_device_info *info, const rynd_machine *m,
                       cli_failure *failure)
{
    char all[32];
    snprintf(all, sizeof all, "%u core%s", m->cores, m->cores == 1 ? "" : "s");
    const char *const head[] = {"", "of", "1 thread", all};
    peak peaks[PEAKS];
    find_peaks(m, peaks);
    cli_line(stdout, "%s: %s (%s), isa %s, cores %u, threads %u", device, m->name, m->architecture,
             *m->isa ? m->isa : "none", m->cores, info->threads);
    cli_table table;
    cli_table_begin(&table, "lrrr", head);
    for (int i = 0; i < PEAKS; i++) {
        if (peaks[i].rate.all > 0) {
            add_row(&table, peaks[i].what, "", cli_word_rate(peaks[i].rate.one, peaks[i].unit),
                    cli_word_rate(peaks[i].rate.all, peaks[i].unit));
        }
    }
    for (int i = 0; i < RYND_KINDS; i++) {
        if (m->kind[i].all > 0) {
            add_row(&table, "kind", kinds[i], cli_word_rate(m->kind[i].one, "op/s"),
                    cli_word_rate(m->kind[i].all, "op/s"));
        }
    }
    add_level_rows(&table, m);
    add_row(&table, "task", "", cli_word_seconds(m->task_seconds),
            cli_word_seconds(m->task_seconds));
    add_row(&table, "region", "", (cli_word){""}, cli_word_seconds(m->region_seconds));
    if (m->transfer_seconds > 0) {
        add_row(&table, "transfer", "of a line", (cli_word){""},
                cli_word_seconds(m->transfer_seconds));
    }
    if (m->copy_seconds > 0) {
        add_row(&table, "copy", "to the device", (cli_word){""},
                cli_word_rate(m->upload_rate, "B/s"));
        add_row(&table, "copy", "to the host", (cli_word){""},
                cli_word_rate(m->download_rate, "B/s"));
        add_row(&table, "copy", "small", (cli_word){""}, cli_word_seconds(m->copy_seconds));
    }
    add_power_rows(&table, m);
    return cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
}

/* Is the rate of any kind of operation known? Built-in machines have none. */
static bool has_kinds(const rynd_machine *m)
{
    bool any = false;
    for (int i = 0; i < RYND_KINDS; i++) {
        any = any || m->kind[i].all > 0;
    }
    return any;
}

static int show(void *bar, const rynd_progress *progress)
{
    cli_progress_show(bar, "measuring", (double)progress->done / (double)progress->all);
    return 0;
}

/* A measurement beside other work would be believed by every plan after it: it is shown, and kept
 * nowhere. */
static bool keep(const cli_setup *setup, const devices_settings *settings,
                 const rynd_machine *machine, const char **file, cli_failure *failure)
{
    sigset_t before;
    *file = NULL;
    /* the library removes what it writes aside, but not when the process ends meanwhile */
    cli_ending_hold(&before);
    const rynd_status status = rynd_context_keep_machine(setup->context, machine, file);
    cli_ending_release(&before);
    if (status == RYND_ERROR_ARGUMENT) {
        cli_note(&settings->common, "%s", rynd_last_error());
        return true;
    }
    return status == RYND_OK ? true : cli_fail_library(failure);
}

static bool measure(const cli_setup *setup, const devices_settings *settings, rynd_machine *machine,
                    const char **file, cli_failure *failure)
{
    cli_progress progress;
    cli_progress_begin(&progress, &settings->common);
    cli_progress_show(&progress, "measuring", 0);
    const rynd_measure_options how =
        RYND_SIZED(rynd_measure_options, .progress = show, .progress_user = &progress);
    const bool done = rynd_context_measure(setup->context, &how, machine) == RYND_OK;
    cli_progress_end(&progress);
    if (!done) {
        return cli_fail_library(failure);
    }
    return keep(setup, settings, machine, file, failure);
}

static bool calibrate(const cli_setup *setup, const devices_settings *settings,
                      rynd_machine *machine, const char **file, cli_failure *failure)
{
    return cli_calibrate(setup, &settings->common, settings->budget, machine, failure) &&
           keep(setup, settings, machine, file, failure);
}

static bool export_machine(const devices_settings *settings, const rynd_machine *machine,
                           cli_failure *failure)
{
    sigset_t before;
    cli_ending_hold(&before);
    const rynd_status status = rynd_machine_save(machine, settings->export);
    cli_ending_release(&before);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

/* One device: measured, exported, printed, as asked for. */
static bool show_device(const devices_settings *settings, const cli_common *common,
                        const char *name, cJSON *results, cli_setup *setup, size_t *wrong,
                        cli_failure *failure)
{
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    rynd_machine machine = RYND_SIZED(rynd_machine);
    if (!cli_setup_context(setup, common, failure)) {
        return false;
    }
    if (rynd_context_get_info(setup->context, &info) != RYND_OK ||
        rynd_context_get_machine(setup->context, &machine) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const char *file = info.machine;
    if (settings->measure && !measure(setup, settings, &machine, &file, failure)) {
        return false;
    }
    if (settings->calibrate && !calibrate(setup, settings, &machine, &file, failure)) {
        return false;
    }
    if (settings->export && !export_machine(settings, &machine, failure)) {
        return false;
    }
    if (results) {
        cJSON *result = add_json(results, name, &info, &machine, file);
        return (!settings->calibrate || cli_report_calibration(setup, result, failure)) &&
               (!settings->check || cli_report_check(setup, common, result, wrong, failure));
    }
    if (!print_text(name, &info, &machine, failure)) {
        return false;
    }
    cli_line(stdout, "%s%s%s", origins[machine.origin], file ? ", in " : "", file ? file : "");
    if (*machine.isa && !has_kinds(&machine)) {
        cli_line(stdout, "rates of kinds of operations: unknown, taken to grow with the peak; "
                         "--measure finds them");
    }
    if (settings->calibrate && !cli_report_calibration(setup, NULL, failure)) {
        return false;
    }
    if (settings->calibrate) {
        cli_line(stdout, "disturbed by %.0f%%; the machine's own speed varied by %.0f%%",
                 100 * machine.disturbance, 100 * machine.variation);
    }
    return !settings->check || cli_report_check(setup, common, NULL, wrong, failure);
}

/* Shows the given device, or all devices. */
static bool show_devices(const devices_settings *settings, cJSON *results, size_t *wrong,
                         cli_failure *failure)
{
    const cli_common *common = &settings->common;
    const bool one = common->device || common->machine || settings->measure ||
                     settings->calibrate || settings->export;
    const size_t count = one ? 1 : rynd_device_count();
    for (size_t i = 0; i < count; i++) {
        char name[16] = "cpu";
        cli_common own = *common;
        if (!one && rynd_device_get_name(i, name, sizeof name) != RYND_OK) {
            return cli_fail_library(failure);
        }
        own.device = one ? common->device : name;
        if (i > 0 && !results) {
            cli_line(stdout, "%s", "");
        }
        cli_setup setup = {0};
        const bool done = show_device(settings, &own, own.device ? own.device : name, results,
                                      &setup, wrong, failure);
        cli_setup_close(&setup);
        if (!done) {
            return false;
        }
    }
    return true;
}

static bool run(void *given, cli_failure *failure)
{
    if (((const devices_settings *)given)->cards) {
        return cli_show_cards(((const devices_settings *)given)->common.json, failure);
    }
    const devices_settings *settings = given;
    cJSON *results = NULL,
          *document = settings->common.json ? cli_json_begin("devices", &results) : NULL;
    size_t wrong = 0;
    if (!show_devices(settings, results, &wrong, failure)) {
        cJSON_Delete(document);
        return false;
    }
    if (document && !cli_json_print(document, failure)) {
        return false;
    }
    return wrong == 0 ||
           cli_fail(
               failure,
               "%zu kernel%s not right on %s; later plans avoid them: update the driver, and check "
               "again",
               wrong, wrong == 1 ? " is" : "s are",
               settings->common.device ? settings->common.device : "these devices");
}

const cli_command cli_command_devices = {
    .name = "devices",
    .help = "list devices, with peaks, caches, bandwidths and latencies",
    .text = "Plans use these numbers: measured ones if the machine was measured, else built-in "
            "ones of its micro-architecture.\n"
            "--measure takes 5 to 30 seconds. Run nothing else meanwhile: if other work takes more "
            "than a tenth of the time, the command says so and stores nothing. Measurements on all "
            "cores are stored in the file RYND_MACHINE (off: not stored; default: under "
            "XDG_CACHE_HOME or HOME/.cache).\n"
            "--calibrate takes 30 to 90 seconds, and measures first if nobody has. It prints how "
            "far predictions are off for problems that the fit did not see. If you end it, the "
            "next one goes on.\n"
            "--check takes seconds to minutes. It runs every kernel twice on problems with known "
            "answers, on the given device or on all devices. Later plans avoid kernels that are "
            "wrong or unsteady, and say so. The findings are stored beside the machine's file, for "
            "this driver and this version of rynd.",
    .examples = "rynd devices\n"
                "rynd devices --measure --export machine.txt\n"
                "rynd devices --calibrate --device opencl --budget 300\n"
                "rynd predict model.onnx --device cuda --machine h100",
    .options = options,
    .uses = CLI_USE_DEVICE | CLI_USE_THREADS | CLI_USE_TABLES,
    .settings_size = sizeof(devices_settings),
    .run = run,
};
