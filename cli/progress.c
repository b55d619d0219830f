/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the progress bar. */
#include "progress.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define BAR   30
#define LABEL 40 /* label, bar and per cent stay inside 80 columns */

void cli_progress_begin(cli_progress *progress, const cli_common *common)
{
    *progress = (cli_progress){.shown = !common->quiet && isatty(STDERR_FILENO) == 1, .last = -1};
}

void cli_progress_show(cli_progress *progress, const char *what, double fraction)
{
    int percent = fraction >= 1 ? 100 : fraction <= 0 ? 0 : (int)(100 * fraction);
    if (!progress->shown || percent == progress->last) {
        return;
    }
    char bar[BAR + 1], label[LABEL + 1];
    int full = percent * BAR / 100;
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)full);
    bar[BAR] = 0;
    rynd_text_escape(what, RYND_ESCAPE_LINE, label, sizeof label);
    fprintf(stderr, "\r%-*s [%s] %3d%%", LABEL, label, bar, percent);
    fflush(stderr);
    progress->last = percent;
}

void cli_progress_end(cli_progress *progress)
{
    if (progress->shown && progress->last >= 0) {
        fprintf(stderr, "\r%*s\r", LABEL + BAR + 8, "");
        fflush(stderr);
    }
    progress->last = -1;
}
