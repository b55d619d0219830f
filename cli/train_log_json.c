/* SPDX-License-Identifier: Apache-2.0 */
/* A training log as lines of JSON. */
#include "train_log.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { DIGITS = 32 };

/* A number, or null: JSON knows no NaN. Nine digits are all of a float's, seventeen of a double's.
 */
static const char *number(double value, int digits, char text[DIGITS])
{
    if (!isfinite(value)) {
        return "null";
    }
    snprintf(text, DIGITS, "%.*g", digits, value);
    return text;
}

/* ,"accuracy":0.5 or nothing. */
static const char *accuracy_of(double accuracy, char text[2 * DIGITS])
{
    *text = 0;
    if (accuracy >= 0) {
        snprintf(text, 2 * DIGITS, ",\"accuracy\":%.9g", accuracy);
    }
    return text;
}

static void write_step(const cli_log_step *step, char text[CLI_LOG_LINE])
{
    char loss[DIGITS], rate[DIGITS], accuracy[2 * DIGITS];
    snprintf(
        text, CLI_LOG_LINE,
        "{\"row\":\"step\",\"step\":%" PRIu64 ",\"epoch\":%" PRIu64
        ",\"loss\":%s,\"lr\":%s%s,\"images_per_second\":%.6g,\"seconds\":%.6f,\"memory\":%.0f}",
        step->step, step->epoch, number(step->loss, 9, loss), number(step->rate, 17, rate),
        accuracy_of(step->accuracy, accuracy), step->images_per_second, step->seconds,
        step->memory);
}

static void write_validation(const cli_log_validation *row, char text[CLI_LOG_LINE])
{
    char loss[DIGITS], accuracy[2 * DIGITS], map[2 * DIGITS] = "";
    if (row->boxes) {
        snprintf(map, sizeof map, ",\"map50\":%.9g", row->map50);
    }
    snprintf(text, CLI_LOG_LINE,
             "{\"row\":\"validation\",\"step\":%" PRIu64 ",\"epoch\":%" PRIu64
             ",\"loss\":%s%s%s,\"samples\":%" PRIu64 ",\"seconds\":%.6f}",
             row->step, row->epoch, number(row->loss, 17, loss),
             accuracy_of(row->accuracy, accuracy), map, row->samples, row->seconds);
}

static bool read_line(const char *line, cli_log_line *read)
{
    cJSON *row = cJSON_Parse(line);
    const cJSON *kind = cJSON_GetObjectItemCaseSensitive(row, "row");
    const cJSON *step = cJSON_GetObjectItemCaseSensitive(row, "step");
    const cJSON *loss = cJSON_GetObjectItemCaseSensitive(row, "loss");
    const cJSON *accuracy = cJSON_GetObjectItemCaseSensitive(row, "accuracy");
    const bool keep = row && cJSON_IsString(kind) && strcmp(kind->valuestring, "end") != 0;
    *read = (cli_log_line){.step = cJSON_IsNumber(step) ? step->valuedouble : -1};
    if (keep && cJSON_IsNumber(step) && cJSON_IsNumber(loss)) {
        read->point = true;
        read->validation = strcmp(kind->valuestring, "validation") == 0;
        read->at = (cli_curve_point){read->step, loss->valuedouble,
                                     cJSON_IsNumber(accuracy) ? accuracy->valuedouble : -1};
    }
    cJSON_Delete(row);
    return keep;
}

const cli_log_format cli_log_json = {
    .free_rows = true,
    .step = write_step,
    .validation = write_validation,
    .read = read_line,
};
