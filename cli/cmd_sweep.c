/* SPDX-License-Identifier: Apache-2.0 */
/* rynd sweep: a problem over ranges of its words. */
#include "commands.h"
#include "sweep.h"
#include "sweep_report.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

typedef struct sweep_settings {
    cli_common common;
    bool measure;
    cli_sweep_measuring how;
    const char *output;
} sweep_settings;

static const sweep_settings defaults = {.how = {.seconds = 2, .rounds = 9, .seed = 1}};

#define OFFSET(field) offsetof(sweep_settings, field)

/* clang-format off */
static const cli_option options[] = {
    {"measure", 0, CLI_FLAG, NULL, NULL, 0, 0, OFFSET(measure),
     "run every point, too, and print measured times"},
    {"seconds", 0, CLI_NUMBER, "S", NULL, 0, 86400, OFFSET(how.seconds),
     "measure for at least S seconds in all (default 2)"},
    {"rounds", 0, CLI_INTEGER, "N", NULL, 1, 1e6, OFFSET(how.rounds),
     "measure at least N rounds, each of which runs every point once (default 9)"},
    {"seed", 0, CLI_INTEGER, "N", NULL, 0, 1e15, OFFSET(how.seed),
     "random seed (order within rounds; default 1)"},
    {"output", 'o', CLI_TEXT, "FILE.svg", NULL, 0, 0, OFFSET(output),
     "plot the times over the first range"},
    {0},
};
/* clang-format on */

/* Refuses other suffixes, so that the file is not read as another format. */
static bool check_output(const char *path, cli_failure *failure)
{
    const size_t length = path ? strlen(path) : 0;
    const bool svg = length > 4 && strcmp(path + length - 4, ".svg") == 0;
    return !path || svg || strncmp(path, "/dev/", 5) == 0
               ? true
               : cli_fail_usage(failure,
                                "sweep: --output does not take '%s'; give a name that ends "
                                "with .svg",
                                path);
}

/* "cpu avx512, Zen 4, 2 threads". */
static bool name_machine(const cli_setup *setup, char *text, size_t size, cli_failure *failure)
{
    rynd_device_info info = RYND_SIZED(rynd_device_info);
    rynd_machine machine = RYND_SIZED(rynd_machine);
    if (rynd_context_get_info(setup->context, &info) != RYND_OK ||
        rynd_context_get_machine(setup->context, &machine) != RYND_OK) {
        return cli_fail_library(failure);
    }
    snprintf(text, size, "%s%s%s, %s, %u thread%s", info.device, *info.isa ? " " : "", info.isa,
             machine.architecture, info.threads, info.threads == 1 ? "" : "s");
    return true;
}

static bool sweep_all(const sweep_settings *own, cli_sweep *sweep, cli_setup *setup,
                      cli_progress *progress, cli_failure *failure)
{
    const cli_common *common = &own->common;
    return check_output(own->output, failure) &&
           cli_sweep_begin(sweep, &common->arguments, failure) &&
           cli_setup_context(setup, common, failure) &&
           cli_sweep_predict(sweep, setup, common, progress, failure) &&
           (!own->measure ||
            cli_sweep_measure(sweep, &own->how, setup, common, progress, failure)) &&
           cli_sweep_judge(sweep, failure);
}

static bool run(void *settings, cli_failure *failure)
{
    const sweep_settings *own = settings;
    cli_setup setup = {0};
    cli_sweep sweep = {0};
    cli_progress progress;
    char machine[160];
    cli_progress_begin(&progress, &own->common);
    bool done = sweep_all(own, &sweep, &setup, &progress, failure);
    cli_progress_end(&progress);
    if (done && own->output) {
        done = name_machine(&setup, machine, sizeof machine, failure) &&
               cli_sweep_draw(&sweep, machine, own->output, failure);
    }
    if (done) {
        done = own->common.json ? cli_sweep_print_json(&sweep, failure)
                                : cli_sweep_print(&sweep, failure);
    }
    cli_sweep_free(&sweep);
    cli_setup_close(&setup);
    return done;
}

const cli_command cli_command_sweep = {
    .name = "sweep",
    .arguments = "'PROBLEM' WORD=RANGE...",
    .least = 2,
    .most = SIZE_MAX,
    .help = "predict, measure and plot the time of a problem over ranges of its words",
    .text = "A range is A..B, A..B:STEP, or a list with commas (8,16,32..64:8; nchw,nhwc). It sets "
            "one word of the problem, or several at once (h+w=200..260). Several ranges make every "
            "combination, at most 10,000.\n"
            "Other operators have places in their dims: 'softmax x0=8x{n}:f32 y0=8x{n}:f32 axis=1' "
            "n=100..110; {n*2}, {n/2}, {n+1} and {n-1} compute.\n"
            "D: time over the least time of all problems that contain this one, which have more "
            "padding, pixels, channels or images. Without a cliff, D is at most 1. E: ratio of the "
            "times of two neighbours, over the ratio of their work.",
    .examples = "rynd sweep 'conv c=64 h=56 w=56 k=64 r=3 s=3' pad=0..3 --measure\n"
                "rynd sweep 'conv c=64 h=56 w=56 r=3 s=3 pad=1' k=16..256:16 -o sweep.svg",
    .options = options,
    .uses = CLI_USE_ALL & ~(unsigned)CLI_USE_DIMS,
    .settings_size = sizeof(sweep_settings),
    .defaults = &defaults,
    .run = run,
};
