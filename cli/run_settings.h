/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `rynd run`, shared by its parts. */
#ifndef CLI_RUN_SETTINGS_H
#define CLI_RUN_SETTINGS_H

#include "options.h"
#include "preprocess.h"

typedef struct cli_run_settings {
    cli_common common;
    cli_list inputs; /* "FILE" or "NAME=FILE" */
    const char *output;
    int64_t top; /* 0: not given */
    const char *labels;
    double output_scale; /* 0: not given */
    cli_preprocess preprocess;
    /* with --task */
    int task, fit; /* 1 + index of the choice; 0: not given */
    const char *head;
    double score, overlap; /* 0: not given */
    double opacity;        /* 0: not given */
    int64_t tile;          /* overlap in pixels; -1: not given */
} cli_run_settings;

#endif
