/* SPDX-License-Identifier: Apache-2.0 */
/* Writes rows, and reads those that an earlier part of the run wrote. */
#include "train_log.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
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
    cJSON *row = cJSON_Parse(line);
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(row, "row");
    const cJSON *number = cJSON_GetObjectItemCaseSensitive(row, "step");
    const cJSON *loss = cJSON_GetObjectItemCaseSensitive(row, "loss");
    const cJSON *accuracy = cJSON_GetObjectItemCaseSensitive(row, "accuracy");
    bool keep = row && cJSON_IsString(kind) &&
                (!cJSON_IsNumber(number) || number->valuedouble <= (double)step);
    keep = keep && strcmp(kind->valuestring, "end") != 0;
    if (keep && cJSON_IsNumber(number) && cJSON_IsNumber(loss)) {
        const bool validation = strcmp(kind->valuestring, "validation") == 0;
        *memory =
            add_point(validation ? &log->validation : &log->training, number->valuedouble,
                      loss->valuedouble, cJSON_IsNumber(accuracy) ? accuracy->valuedouble : -1);
    }
    cJSON_Delete(row);
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

bool cli_train_log_open(cli_train_log *log, const char *path, bool resumed, uint64_t step,
                        cli_failure *failure)
{
    *log = (cli_train_log){.path = path};
    if (!path) {
        return true;
    }
    log->file = resumed ? fopen(path, "r+") : NULL;
    const bool there = log->file != NULL;
    log->file = there ? log->file : fopen(path, "w");
    if (!log->file) {
        return fail_write(log, failure);
    }
    return !there || cut(log, step, failure);
}

bool cli_train_log_row(cli_train_log *log, const char *fields, cli_failure *failure)
{
    /* A row is there for who reads along, and after a kill. */
    if (log->file && (fprintf(log->file, "{%s}\n", fields) < 0 || fflush(log->file) != 0)) {
        return fail_write(log, failure);
    }
    return true;
}

/* A number, or null: JSON knows no NaN. */
static const char *number(double value, const char *format, char text[32])
{
    if (!isfinite(value)) {
        return "null";
    }
    snprintf(text, 32, format[0] == '9' ? "%.9g" : "%.17g", value);
    return text;
}

/* ,"accuracy":0.5 or nothing. */
static const char *accuracy_of(double accuracy, char text[64])
{
    *text = 0;
    if (accuracy >= 0) {
        snprintf(text, 64, ",\"accuracy\":%.9g", accuracy);
    }
    return text;
}

bool cli_train_log_step(cli_train_log *log, const cli_log_step *step, cli_failure *failure)
{
    char fields[512], loss[32], rate[32], accuracy[64];
    /* Nine digits are all of a float's, seventeen of a double's. */
    snprintf(fields, sizeof fields,
             "\"row\":\"step\",\"step\":%" PRIu64 ",\"epoch\":%" PRIu64
             ",\"loss\":%s,\"lr\":%s%s,\"images_per_second\":%.6g,\"seconds\":%.6f,\"memory\":%.0f",
             step->step, step->epoch, number(step->loss, "9", loss), number(step->rate, "17", rate),
             accuracy_of(step->accuracy, accuracy), step->images_per_second, step->seconds,
             step->memory);
    return (add_point(&log->training, (double)step->step, step->loss, step->accuracy) ||
            cli_fail_memory(failure)) &&
           cli_train_log_row(log, fields, failure);
}

bool cli_train_log_validation(cli_train_log *log, const cli_log_validation *row,
                              cli_failure *failure)
{
    char fields[512], loss[32], accuracy[64];
    snprintf(fields, sizeof fields,
             "\"row\":\"validation\",\"step\":%" PRIu64 ",\"epoch\":%" PRIu64
             ",\"loss\":%s%s,\"samples\":%" PRIu64 ",\"seconds\":%.6f",
             row->step, row->epoch, number(row->loss, "17", loss),
             accuracy_of(row->accuracy, accuracy), row->samples, row->seconds);
    return (add_point(&log->validation, (double)row->step, row->loss, row->accuracy) ||
            cli_fail_memory(failure)) &&
           cli_train_log_row(log, fields, failure);
}

void cli_train_log_close(cli_train_log *log)
{
    if (log->file) {
        fclose(log->file);
    }
    free(log->training.points);
    free(log->validation.points);
    *log = (cli_train_log){0};
}
