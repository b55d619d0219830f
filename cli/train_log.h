/* SPDX-License-Identifier: Apache-2.0 */
/* What happened in a training run: a file of rows for other programs, and losses and accuracies for
 * the plot. A file whose name ends with .csv is of the second form:
 *
 *   {"row":"start", ...}        the run's settings, and where it began
 *   {"row":"step", ...}         a step: loss with all its digits, rate, speed, seconds, memory
 *   {"row":"validation", ...}   behind an epoch
 *   {"row":"end", ...}          why it ended
 *
 *   row,step,epoch,loss,lr,accuracy,images_per_second,seconds,memory,samples
 *   step,...                    without start and end */
#ifndef CLI_TRAIN_LOG_H
#define CLI_TRAIN_LOG_H

#include "tensorboard.h"

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
    double loss, accuracy; /* accuracy below 0: none; boxes: mAP */
    bool boxes;            /* accuracy is mAP, and map50 that at an overlap of 0.5 */
    double map50;
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

enum { CLI_LOG_LINE = 512 };

/* A line of an earlier run. */
typedef struct cli_log_line {
    bool validation, point; /* whose curve; it has a step and a loss */
    double step;            /* below 0: none */
    cli_curve_point at;
} cli_log_line;

/* A form of the file: train_log_json.c, train_log_csv.c. */
typedef struct cli_log_format {
    const char *head; /* first line; NULL: none */
    bool free_rows;   /* rows of the caller's are written */
    void (*step)(const cli_log_step *step, char text[CLI_LOG_LINE]);
    void (*validation)(const cli_log_validation *row, char text[CLI_LOG_LINE]);
    /* false: the line does not stay in the file of a run that goes on */
    bool (*read)(const char *line, cli_log_line *read);
} cli_log_format;

extern const cli_log_format cli_log_json, cli_log_csv;

typedef struct cli_train_log {
    const char *path; /* NULL: no file */
    FILE *file;
    const cli_log_format *format;
    cli_tensorboard board;
    cli_curve training, validation;
} cli_train_log;

/* Where a log is written; NULL: nowhere. */
typedef struct cli_log_places {
    const char *path;  /* the file of rows */
    const char *board; /* a folder of TensorBoard's */
} cli_log_places;

/* A file that is there is replaced; resumed: what it says of steps behind `step` is cut off, and
 * the rest stays. */
bool cli_train_log_open(cli_train_log *log, const cli_log_places *places, bool resumed,
                        uint64_t step, cli_failure *failure);
/* A row of the caller's, in files of JSON: an object without its braces
 * ("\"row\":\"start\",..."). */
bool cli_train_log_row(cli_train_log *log, const char *fields, cli_failure *failure);
bool cli_train_log_step(cli_train_log *log, const cli_log_step *step, cli_failure *failure);
bool cli_train_log_validation(cli_train_log *log, const cli_log_validation *row,
                              cli_failure *failure);
void cli_train_log_close(cli_train_log *log);

/* Draws losses over steps as an SVG, and below them accuracies, where samples have classes. */
bool cli_train_plot(const cli_train_log *log, const char *title, const char *loss, const char *path,
                    cli_failure *failure);

#endif
