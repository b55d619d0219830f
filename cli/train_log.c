/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows, and reads those that an earlier part of the run wrote. */
#include "train_log.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool add_point(cli_curve *curve, double step, double loss, double accuracy)
{
    if (curve->count == curve->room) {
        const size_t room = 2 * curve->room + 256;
        cli_curve_point *grown = realloc(curve->points, room * sizeof *grown);
        if (!grown) {
            return false;
        }
        curve->points = grown;
        curve->room = room;
    }
    curve->points[curve->count++] = (cli_curve_point){step, loss, accuracy};
    return true;
}

static bool fail_write(const cli_train_log *log, cli_failure *failure)
{
    return cli_fail(failure, "cannot write '%s': %s", log->path, strerror(errno));
}

/* Keeps an existing line; returns false at the first line of a later step. */
static bool keep_line(cli_train_log *log, const char *line, uint64_t step, bool *memory)
{
    cli_log_line read;
    const bool keep = log->format->read(line, &read) && read.step <= (double)step;
    if (keep && read.point) {
        *memory = add_point(read.validation ? &log->validation : &log->training, read.at.step,
                            read.at.loss, read.at.accuracy);
    }
    return keep;
}

/* Cuts off what does not belong to the steps done: they come again. */
static bool cut(cli_train_log *log, uint64_t step, cli_failure *failure)
{
    char *line = NULL;
    size_t room = 0;
    ssize_t length;
    off_t kept = 0;
    bool memory = true;
    while (memory && (length = getline(&line, &room, log->file)) > 0) {
        if (line[length - 1] != '\n' || !keep_line(log, line, step, &memory)) {
            break;
        }
        kept += length;
    }
    free(line);
    if (!memory) {
        return cli_fail_memory(failure);
    }
    if (ftruncate(fileno(log->file), kept) != 0 || fseeko(log->file, kept, SEEK_SET) != 0) {
        return fail_write(log, failure);
    }
    return true;
}

static bool write_line(cli_train_log *log, const char *line, cli_failure *failure)
{
    /* A row is there for who reads along, and after a kill. */
    if (log->file && (fprintf(log->file, "%s\n", line) < 0 || fflush(log->file) != 0)) {
        return fail_write(log, failure);
    }
    return true;
}

static bool is_csv(const char *path)
{
    const size_t length = strlen(path);
    return length > 4 && strcmp(path + length - 4, ".csv") == 0;
}

static bool open_file(cli_train_log *log, const char *path, bool resumed, uint64_t step,
                      cli_failure *failure)
{
    log->path = path;
    log->format = is_csv(path) ? &cli_log_csv : &cli_log_json;
    log->file = resumed ? fopen(path, "r+") : NULL;
    const bool there = log->file != NULL;
    log->file = there ? log->file : fopen(path, "w");
    if (!log->file) {
        return fail_write(log, failure);
    }
    return (!there || cut(log, step, failure)) && (!log->format->head || ftello(log->file) > 0 ||
                                                   write_line(log, log->format->head, failure));
}

bool cli_train_log_open(cli_train_log *log, const cli_log_places *places, bool resumed,
                        uint64_t step, cli_failure *failure)
{
    *log = (cli_train_log){.format = &cli_log_json};
    return (!places->path || open_file(log, places->path, resumed, step, failure)) &&
           (!places->board || cli_tensorboard_open(&log->board, places->board, step, failure));
}

/* An accuracy, or no number. */
static double known(double accuracy)
{
    return accuracy < 0 ? NAN : accuracy;
}

bool cli_train_log_row(cli_train_log *log, const char *fields, cli_failure *failure)
{
    if (log->file && log->format->free_rows &&
        (fprintf(log->file, "{%s}\n", fields) < 0 || fflush(log->file) != 0)) {
        return fail_write(log, failure);
    }
    return true;
}

bool cli_train_log_step(cli_train_log *log, const cli_log_step *step, cli_failure *failure)
{
    char line[CLI_LOG_LINE];
    const cli_scalar scalars[] = {{"loss/train", step->loss},
                                  {"learning_rate", step->rate},
                                  {"images_per_second", step->images_per_second},
                                  {"accuracy/train", known(step->accuracy)}};
    log->format->step(step, line);
    return (add_point(&log->training, (double)step->step, step->loss, step->accuracy) ||
            cli_fail_memory(failure)) &&
           write_line(log, line, failure) &&
           cli_tensorboard_add(&log->board, step->step, scalars, sizeof scalars / sizeof *scalars,
                               failure);
}

bool cli_train_log_validation(cli_train_log *log, const cli_log_validation *row,
                              cli_failure *failure)
{
    char line[CLI_LOG_LINE];
    const cli_scalar scalars[] = {{"loss/validation", row->loss},
                                  {"accuracy/validation", known(row->accuracy)}};
    log->format->validation(row, line);
    return (add_point(&log->validation, (double)row->step, row->loss, row->accuracy) ||
            cli_fail_memory(failure)) &&
           write_line(log, line, failure) &&
           cli_tensorboard_add(&log->board, row->step, scalars, sizeof scalars / sizeof *scalars,
                               failure);
}

void cli_train_log_close(cli_train_log *log)
{
    if (log->file) {
        fclose(log->file);
    }
    cli_tensorboard_close(&log->board);
    free(log->training.points);
    free(log->validation.points);
    *log = (cli_train_log){0};
}
