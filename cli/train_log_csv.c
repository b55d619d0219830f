/* SPDX-License-Identifier: Apache-2.0 */
/* A training log as a table of comma-separated values; a value that is not there is empty. */
#include "train_log.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char head[] =
    "row,step,epoch,loss,lr,accuracy,images_per_second,seconds,memory,samples";

/* Columns of a line that an earlier run wrote. */
enum { STEP = 1, LOSS = 3, ACCURACY = 5 };
enum { DIGITS = 32 };

static const char *number(double value, int digits, char text[DIGITS])
{
    *text = 0;
    if (isfinite(value)) {
        snprintf(text, DIGITS, "%.*g", digits, value);
    }
    return text;
}

static const char *accuracy_of(double accuracy, char text[DIGITS])
{
    return number(accuracy < 0 ? NAN : accuracy, 9, text);
}

static void write_step(const cli_log_step *step, char text[CLI_LOG_LINE])
{
    char loss[DIGITS], rate[DIGITS], accuracy[DIGITS];
    snprintf(text, CLI_LOG_LINE, "step,%" PRIu64 ",%" PRIu64 ",%s,%s,%s,%.6g,%.6f,%.0f,",
             step->step, step->epoch, number(step->loss, 9, loss), number(step->rate, 17, rate),
             accuracy_of(step->accuracy, accuracy), step->images_per_second, step->seconds,
             step->memory);
}

static void write_validation(const cli_log_validation *row, char text[CLI_LOG_LINE])
{
    char loss[DIGITS], accuracy[DIGITS];
    snprintf(text, CLI_LOG_LINE, "validation,%" PRIu64 ",%" PRIu64 ",%s,,%s,,%.6f,,%" PRIu64,
             row->step, row->epoch, number(row->loss, 17, loss),
             accuracy_of(row->accuracy, accuracy), row->seconds, row->samples);
}

/* The value of a column; otherwise where it is empty or absent. */
static double value_of(const char *line, int column, double otherwise)
{
    for (; column > 0; column--) {
        line = strchr(line, ',');
        if (!line) {
            return otherwise;
        }
        line++;
    }
    char *end;
    const double value = strtod(line, &end);
    return end == line ? otherwise : value;
}

static bool starts_with(const char *line, const char *word)
{
    return strncmp(line, word, strlen(word)) == 0;
}

static bool read_line(const char *line, cli_log_line *read)
{
    const bool validation = starts_with(line, "validation,");
    *read = (cli_log_line){.validation = validation, .step = -1};
    if (!validation && !starts_with(line, "step,")) {
        return starts_with(line, head);
    }
    const double loss = value_of(line, LOSS, NAN);
    read->step = value_of(line, STEP, INFINITY);
    read->point = isfinite(loss);
    read->at = (cli_curve_point){read->step, loss, value_of(line, ACCURACY, -1)};
    return true;
}

const cli_log_format cli_log_csv = {
    .head = head,
    .step = write_step,
    .validation = write_validation,
    .read = read_line,
};
