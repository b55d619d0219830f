/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in a training run: rows of JSON, one a line, for other programs, and losses
 * and accuracies for the plot.
 *
 *   {"row":"start", ...}        the run's settings, and where it began
 *   {"row":"step", ...}         a step: loss with all its digits, rate, speed, seconds, memory
 *   {"row":"validation", ...}   behind an epoch
 *   {"row":"end", ...}          why it ended */
#ifndef CLI_TRAIN_LOG_H
#define CLI_TRAIN_LOG_H

#include "failure.h"

#include <stdint.h>
#include <stdio.h>

typedef struct cli_log_step {
    uint64_t step, epoch; /* steps done, including the current; the epoch from 0 */
    double loss, rate;
    double accuracy; /* share of the batch, 0 to 1; negative: unknown */
    double images_per_second, seconds, memory;
} cli_log_step;

typedef struct cli_log_validation {
    uint64_t step, epoch, samples;
    double loss, accuracy; /* accuracy below 0: there is none */
    double seconds;
} cli_log_validation;

typedef struct cli_curve_point {
    double step;
    double loss, accuracy; /* accuracy below 0: there is none */
} cli_curve_point;

typedef struct cli_curve {
    cli_curve_point *points;
    size_t count, room;
} cli_curve;

typedef struct cli_train_log {
    const char *path; /* NULL: no file */
    FILE *file;
    cli_curve training, validation;
} cli_train_log;

/* path NULL: keeps the curves only. A file that is there is replaced; resumed: what it says of
 * steps behind `step` is cut off, and the rest stays. */
bool cli_train_log_open(cli_train_log *log, const char *path, bool resumed, uint64_t step,
                        cli_failure *failure);
/* A row of the caller's: an object without its braces ("\"row\":\"start\",..."). */
bool cli_train_log_row(cli_train_log *log, const char *fields, cli_failure *failure);
bool cli_train_log_step(cli_train_log *log, const cli_log_step *step, cli_failure *failure);
bool cli_train_log_validation(cli_train_log *log, const cli_log_validation *row,
                              cli_failure *failure);
void cli_train_log_close(cli_train_log *log);

/* Draws losses over steps as an SVG, and below them accuracies, where samples have classes. */
bool cli_train_plot(const cli_train_log *log, const char *title, const char *loss, const char *path,
                    cli_failure *failure);

#endif
