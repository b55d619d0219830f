/* SPDX-License-Identifier: Apache-2.0 */
/* rynd place: gives networks, or parts of them, to devices. */
#include "commands.h"
#include "ending.h"
#include "json_out.h"
#include "notes.h"
#include "place_run.h"
#include "progress.h"
#include "setup.h"
#include "table.h"
#include "wording.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct place_settings {
    cli_common common;
    const char *devices;
    int objective; /* 1 + rynd_objective */
    int64_t parts, nodes, run;
} place_settings;

static const place_settings defaults = {.objective = 1};

#define OFFSET(field) offsetof(place_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"devices", 0, CLI_TEXT, "FILE", NULL, 0, 0, OFFSET(devices),
     "file with one device or link per line: device NAME [cpu|opencl:N] [threads=N] "
     "[machine=FILE] [memory=BYTES] [watts=W]; link NAME NAME bandwidth=B latency=S"},
    {"objective", 0, CLI_CHOICE, "WHAT", "latency|throughput|energy|memory", 0, 0,
     OFFSET(objective),
     "what to minimise: the time of one input (default), the time between inputs, joules, or the "
     "bytes on the fullest device"},
    {"parts", 0, CLI_INTEGER, "N", NULL, 1, 32, OFFSET(parts),
     "largest number of parts of a network (default 12, fewer for many devices and networks; 1: "
     "do not cut)"},
    {"nodes", 0, CLI_INTEGER, "N", NULL, 1, 1e9, OFFSET(nodes),
     "largest number of search nodes (default four million, fewer for many devices); a gap to the "
     "optimum may remain"},
    {"run", 0, CLI_INTEGER, "N", NULL, 1, 1024, OFFSET(run),
     "run N random inputs through the parts, and measure"},
    {0},
};
/* clang-format on */

typedef struct place {
    const place_settings *settings;
    rynd_fleet *fleet;
    rynd_model **models;
    size_t model_count;
    rynd_placement *placement;
    rynd_placement_info info;
    cli_progress progress;
    cli_place_outcome outcome;
} place;

static bool check_settings(const place_settings *s, cli_failure *failure)
{
    return s->devices ||
           cli_fail_usage(failure, "--devices FILE is missing: a line of it is 'device here "
                                   "cpu'; see 'rynd place --help'");
}

static bool open_fleet(place *p, cli_failure *failure)
{
    const rynd_context_options context =
        RYND_SIZED(rynd_context_options, .wisdom = p->settings->common.wisdom,
                   .frozen = p->settings->common.frozen, .log = cli_log,
                   .log_user = (void *)(uintptr_t)&p->settings->common);
    sigset_t before;
    cli_ending_hold(
        &before); /* the contexts' threads inherit the mask: signals go to this thread */
    const rynd_status status = rynd_fleet_load(p->settings->devices, &context, &p->fleet);
    cli_ending_release(&before);
    return status == RYND_OK ? true : cli_fail_library(failure);
}

static bool load_models(place *p, cli_failure *failure)
{
    const cli_list *paths = &p->settings->common.arguments;
    rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
    p->models = calloc(paths->count, sizeof *p->models);
    if (!p->models) {
        return cli_fail_memory(failure);
    }
    if (rynd_fleet_get_device(p->fleet, 0, &device) != RYND_OK) {
        return cli_fail_library(failure);
    }
    for (; p->model_count < paths->count; p->model_count++) {
        if (rynd_model_load(device.context, paths->items[p->model_count],
                            &p->models[p->model_count]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

static int show_progress(void *bar, const rynd_progress *progress)
{
    cli_progress_show(bar, "predicting", (double)progress->done / (double)progress->all);
    return 0;
}

static bool find_placement(place *p, cli_failure *failure)
{
    const place_settings *s = p->settings;
    const rynd_placement_options given = RYND_SIZED(
        rynd_placement_options, .objective = (rynd_objective)(s->objective - 1),
        .accuracy = (rynd_accuracy)s->common.accuracy, .dims = s->common.dims.items,
        .dim_count = s->common.dims.count, .batch = s->common.batch, .parts = (size_t)s->parts,
        .nodes = (size_t)s->nodes, .progress = show_progress, .progress_user = &p->progress);
    cli_progress_begin(&p->progress, &s->common);
    const bool done = rynd_placement_create(p->fleet, p->models, p->model_count, &given,
                                            &p->placement) == RYND_OK;
    cli_progress_end(&p->progress);
    if (!done) {
        p->placement = NULL;
        return cli_fail_library(failure);
    }
    p->info = RYND_SIZED(rynd_placement_info);
    if (rynd_placement_get_info(p->placement, &p->info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (!p->info.complete) {
        cli_note(
            &s->common,
            "predicted times leave out steps whose shapes depend on data: they are planned while "
            "running");
    }
    return true;
}

static bool get_part(const place *p, size_t index, rynd_placed_part *part,
                     rynd_fleet_device *device, cli_failure *failure)
{
    *part = RYND_SIZED(rynd_placed_part);
    *device = RYND_SIZED(rynd_fleet_device);
    const bool done = rynd_placement_get_part(p->placement, index, part) == RYND_OK &&
                      rynd_fleet_get_device(p->fleet, part->device, device) == RYND_OK;
    return done ? true : cli_fail_library(failure);
}

/* What a device has to do for one input of every network, and holds. */
typedef struct share {
    double seconds, bytes;
    size_t parts;
} share;

static bool sum_share(const place *p, size_t index, share *sum, cli_failure *failure)
{
    *sum = (share){0};
    for (size_t i = 0; i < p->info.parts; i++) {
        rynd_placed_part part;
        rynd_fleet_device device;
        if (!get_part(p, i, &part, &device, failure)) {
            return false;
        }
        if (part.device == index) {
            sum->seconds += part.seconds;
            sum->bytes += (double)part.memory.total;
            sum->parts++;
        }
    }
    return true;
}

static bool add_part_rows(const place *p, cli_table *table, cli_failure *failure)
{
    for (size_t i = 0; i < p->info.parts; i++) {
        rynd_placed_part part;
        rynd_fleet_device device;
        if (!get_part(p, i, &part, &device, failure)) {
            return false;
        }
        cli_table_add(table, "%zu", i + 1);
        cli_table_add(table, "%s", p->settings->common.arguments.items[part.network]);
        cli_table_add(table, "%zu to %zu", part.first + 1, part.end);
        cli_table_add(table, "%s", part.last_node);
        cli_table_add(table, "%zu", part.steps);
        cli_table_add(table, "%s", device.name);
        cli_table_add(table, "%s", cli_word_seconds(part.seconds).text);
        cli_table_add(table, "%s", cli_word_bytes((double)part.memory.total).text);
        cli_table_add(table, "%s", cli_word_bytes(part.bytes_out).text);
    }
    return true;
}

static bool add_device_rows(const place *p, cli_table *table, cli_failure *failure)
{
    for (size_t d = 0; d < rynd_fleet_device_count(p->fleet); d++) {
        rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
        share sum;
        if (!sum_share(p, d, &sum, failure)) {
            return false;
        }
        if (rynd_fleet_get_device(p->fleet, d, &device) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cli_table_add(table, "%s", device.name);
        cli_table_add(table, "%s%s%s", device.device, device.machine ? " of " : "",
                      device.machine ? device.machine : "");
        cli_table_add(table, "%zu", sum.parts);
        cli_table_add(table, "%s", cli_word_seconds(sum.seconds).text);
        cli_table_add(table, "%s", cli_word_bytes(sum.bytes).text);
    }
    return true;
}

/* A search that was stopped knows a bound only, which need not be near the best. */
static void print_gap(const char *objective, const rynd_placement_info *i)
{
    const double times = i->bound > 0 ? i->value / i->bound : INFINITY;
    if (times < 2) {
        printf("%s: at most %.2g%% above the optimum", objective, 100 * (times - 1));
    } else if (times < 10) {
        printf("%s: at most %.1f times the optimum", objective, times);
    } else {
        printf("%s: best found; its distance from the optimum is not known", objective);
    }
    printf(" (search stopped after %zu nodes; --nodes N raises the limit)\n", i->nodes);
}

static void print_values(const place *p)
{
    static const char *const names[] = {"latency", "throughput", "energy", "memory"};
    const rynd_placement_info *i = &p->info;
    const char *const objective = names[i->objective];
    printf("\nlatency %s, an input every %s, at most %s on a device, ",
           cli_word_seconds(i->latency).text, cli_word_seconds(i->period).text,
           cli_word_bytes(i->memory).text);
    printf(i->energy > 0 ? "%.4g J\n" : "energy: no meter\n", i->energy);
    if (i->bound >= i->value) {
        printf("%s: optimal (%zu nodes searched)\n", objective, i->nodes);
    } else {
        print_gap(objective, i);
    }
    if (p->settings->run) {
        const cli_place_outcome *o = &p->outcome;
        printf("%lld inputs: predicted %s, measured %s; unplaced on the CPU %s; outputs differ by "
               "%.2g\n",
               (long long)p->settings->run, cli_word_seconds(o->predicted).text,
               cli_word_seconds(o->measured).text, cli_word_seconds(o->unplaced).text,
               o->difference);
    }
}

static bool print_text(const place *p, cli_failure *failure)
{
    static const char *const head[] = {"part",   "network", "nodes",  "last node", "steps",
                                       "device", "time",    "memory", "bytes out"};
    static const char *const device_head[] = {"device", "type", "parts", "busy", "memory"};
    cli_table parts, devices;
    cli_table_begin(&parts, "rlrlrlrrr", head);
    cli_table_begin(&devices, "llrrr", device_head);
    const bool done = add_part_rows(p, &parts, failure) && add_device_rows(p, &devices, failure);
    bool printed = cli_table_print(&parts, done ? stdout : NULL);
    if (done && printed) {
        putchar('\n');
    }
    printed = cli_table_print(&devices, done && printed ? stdout : NULL) && printed;
    if (done && printed) {
        print_values(p);
    }
    return done && (printed || cli_fail_memory(failure));
}

/* Adds a value, or null if it is 0 (unknown). */
static void add_known(cJSON *object, const char *key, double value)
{
    if (value > 0) {
        cli_json_number(object, key, value);
    } else {
        cJSON_AddNullToObject(object, key);
    }
}

static bool add_json_parts(const place *p, cJSON *parts, cli_failure *failure)
{
    for (size_t i = 0; i < p->info.parts; i++) {
        rynd_placed_part part;
        rynd_fleet_device device;
        if (!get_part(p, i, &part, &device, failure)) {
            return false;
        }
        cJSON *object = cli_json_object_in(parts);
        cli_json_text(object, "network", p->settings->common.arguments.items[part.network]);
        cli_json_text(object, "device", device.name);
        cli_json_number(object, "first", (double)part.first);
        cli_json_number(object, "end", (double)part.end);
        cli_json_text(object, "first_node", part.first_node);
        cli_json_text(object, "last_node", part.last_node);
        cli_json_number(object, "steps", (double)part.steps);
        cli_json_number(object, "time", part.seconds);
        cli_json_memory(object, "memory", &part.memory);
        cli_json_number(object, "bytes_in", part.bytes_in);
        cli_json_number(object, "bytes_out", part.bytes_out);
    }
    return true;
}

static bool add_json_devices(const place *p, cJSON *devices, cli_failure *failure)
{
    for (size_t d = 0; d < rynd_fleet_device_count(p->fleet); d++) {
        rynd_fleet_device device = RYND_SIZED(rynd_fleet_device);
        share sum;
        if (!sum_share(p, d, &sum, failure)) {
            return false;
        }
        if (rynd_fleet_get_device(p->fleet, d, &device) != RYND_OK) {
            return cli_fail_library(failure);
        }
        cJSON *object = cli_json_object_in(devices);
        cli_json_text(object, "name", device.name);
        cli_json_text(object, "device", device.device);
        cli_json_text(object, "machine", device.machine);
        add_known(object, "threads", device.threads);
        add_known(object, "memory", device.memory);
        add_known(object, "watts", device.watts);
        cli_json_number(object, "parts", (double)sum.parts);
        cli_json_number(object, "busy", sum.seconds);
        cli_json_number(object, "holds", sum.bytes);
    }
    return true;
}

static bool print_json(const place *p, cli_failure *failure)
{
    static const char *const names[] = {"latency", "throughput", "energy", "memory"};
    cJSON *results, *document = cli_json_begin("place", &results);
    cJSON *result = cli_json_object_in(results);
    const rynd_placement_info *i = &p->info;
    cli_json_text(result, "objective", names[i->objective]);
    cli_json_number(result, "value", i->value);
    cli_json_number(result, "bound", i->bound);
    cli_json_number(result, "gap", i->bound < i->value ? i->value / i->bound - 1 : 0);
    cli_json_number(result, "searched", (double)i->nodes);
    cli_json_number(result, "latency", i->latency);
    cli_json_number(result, "period", i->period);
    add_known(result, "energy", i->energy);
    cli_json_number(result, "memory", i->memory);
    cJSON_AddBoolToObject(result, "complete", i->complete);
    const bool done = add_json_parts(p, cJSON_AddArrayToObject(result, "parts"), failure) &&
                      add_json_devices(p, cJSON_AddArrayToObject(result, "devices"), failure);
    if (!done) {
        cJSON_Delete(document);
        return false;
    }
    if (p->settings->run) {
        cJSON *run = cJSON_AddObjectToObject(result, "run");
        cli_json_number(run, "inputs", (double)p->settings->run);
        cli_json_number(run, "predicted", p->outcome.predicted);
        cli_json_number(run, "measured", p->outcome.measured);
        cli_json_number(run, "unplaced", p->outcome.unplaced);
        cli_json_number(run, "difference", p->outcome.difference);
    } else {
        cJSON_AddNullToObject(result, "run");
    }
    return cli_json_print(document, failure);
}

static bool run(void *settings, cli_failure *failure)
{
    place p = {.settings = settings};
    const place_settings *s = settings;
    bool done = check_settings(s, failure) && open_fleet(&p, failure) && load_models(&p, failure) &&
                find_placement(&p, failure);
    if (done && s->run) {
        done = cli_place_run(p.fleet, p.models, p.model_count, p.placement, &s->common,
                             (size_t)s->run, &p.outcome, failure);
    }
    done = done && (s->common.json ? print_json(&p, failure) : print_text(&p, failure));
    rynd_placement_destroy(p.placement);
    for (size_t i = 0; i < p.model_count; i++) {
        rynd_model_destroy(p.models[i]);
    }
    free(p.models);
    rynd_fleet_destroy(p.fleet);
    return done;
}

const cli_command cli_command_place = {
    .name = "place",
    .arguments = "MODEL...",
    .least = 1,
    .most = SIZE_MAX,
    .help = "assign networks, or parts of them, to devices by predicted time",
    .text = "Inputs come from the first device, and outputs return to it. A device with "
            "machine=FILE is another machine (`rynd devices --export`). docs/placement.md "
            "describes the file of devices and the search.",
    .examples = "rynd place model.onnx --devices devices.txt\n"
                "rynd place first.onnx second.onnx --devices devices.txt --objective throughput",
    .options = options,
    .uses = CLI_USE_ACCURACY | CLI_USE_DIMS | CLI_USE_WISDOM | CLI_USE_TABLES,
    .settings_size = sizeof(place_settings),
    .defaults = &defaults,
    .run = run,
};
