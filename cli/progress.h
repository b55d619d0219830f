/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on standard error, shown only when that is a terminal. */
#ifndef CLI_PROGRESS_H
#define CLI_PROGRESS_H

#include "options.h"

typedef struct cli_progress {
    bool shown;
    int last; /* per cent; -1 before the first */
} cli_progress;

void cli_progress_begin(cli_progress *progress, const cli_common *common);
/* fraction: 0 to 1. `what` is the work at hand ("running", "conv n=1 ..."). */
void cli_progress_show(cli_progress *progress, const char *what, double fraction);
/* Removes the bar. */
void cli_progress_end(cli_progress *progress);

#endif
