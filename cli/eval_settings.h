/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `rynd eval`. */
#ifndef CLI_EVAL_SETTINGS_H
#define CLI_EVAL_SETTINGS_H

#include "run_settings.h"

typedef struct cli_eval_settings {
    cli_run_settings run; /* as for rynd run --task; begins with the common settings */
    const char *data, *boxes, *against, *confusion;
    int against_accuracy; /* 1 + rynd_accuracy; 0: not given */
    int64_t ignore;       /* class of masks; -1: none */
    double range;         /* range of values of an archive's pictures; 0: by their type */
    int64_t examples;     /* 0: all */
} cli_eval_settings;

#endif
