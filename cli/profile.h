/* SPDX-License-Identifier: Apache-2.0 */
/* The measured profile of a model, and its reports. */
#ifndef CLI_PROFILE_H
#define CLI_PROFILE_H

#include "limit.h"
#include "preprocess.h"
#include "setup.h"
#include "statistics.h"

#include <rynd/trace.h>

typedef enum cli_profile_by { CLI_BY_STEP, CLI_BY_OPERATOR, CLI_BY_KERNEL } cli_profile_by;

typedef struct cli_profile_settings {
    cli_common common;
    cli_list inputs; /* "FILE" or "NAME=FILE" */
    cli_preprocess preprocess;
    double min_time;
    int64_t rounds, warmup;
    int by, sort; /* 0: not given; by: cli_profile_by; sort: 1 + index of the choice */
    const char *trace, *html;
} cli_profile_settings;

/* One step, or a sum over steps. Seconds are medians, and sums of medians. */
typedef struct cli_profile_row {
    rynd_step_info step;
    size_t steps; /* in a sum */
    cli_statistics time;
    double seconds, share;
    rynd_prediction predicted;
    double limit; /* seconds by the roofline; 0: not known */
} cli_profile_row;

typedef struct cli_profile {
    const char *name;
    const cli_setup *setup;
    rynd_span *spans; /* spans of the traced run; NULL: nothing was traced */
    size_t span_count;
    size_t count;
    cli_profile_row *rows; /* in the order of the plan */
    cli_statistics run;
    /* Median seconds of a run beyond its steps: those whose shapes depend on data, which a run plans.
     * 0: the plan has all steps. */
    double rest;
    double disturbance; /* share of the machine that other work took */
    rynd_prediction predicted;
} cli_profile;

/* seconds by the limit over measured ones; 0: not known. */
double cli_profile_limit_fraction(const cli_profile_row *row);

/* Prints the steps, or sums by operator or kernel, sorted. */
bool cli_profile_print(const cli_profile *profile, const cli_profile_settings *settings,
                       cli_failure *failure);
bool cli_profile_print_json(const cli_profile *profile, cli_failure *failure);
/* Writes the traced run for chrome://tracing and ui.perfetto.dev: a track for each thread. */
bool cli_profile_write_trace(const cli_profile *profile, const char *path, cli_failure *failure);
bool cli_profile_write_page(const cli_profile *profile, const cli_limit *limit, const char *path,
                            cli_failure *failure);

#endif
