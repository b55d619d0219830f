/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a sweep as a table, or as JSON. */
#include "sweep_report.h"

#include "json_out.h"
#include "line.h"
#include "table.h"
#include "wording.h"

#include <stdio.h>
#include <string.h>

enum { BAR = 24, BAR_TEXT = 3 * BAR + 4, VALUES_TEXT = 512 };

void cli_sweep_values(const cli_sweep *sweep, size_t point, size_t first, char *text, size_t size)
{
    size_t used = 0;
    text[0] = 0;
    for (size_t i = first; i < sweep->grid.axes && used < size; i++) {
        const cli_range *range = &sweep->ranges[i];
        const int length = snprintf(text + used, size - used, "%s%s=%s", used ? " " : "",
                                    range->words, range->texts[sweep->points[point].value[i]]);
        used += length > 0 ? (size_t)length : 0;
    }
}

/* Eighths of a block: U+2588 is a whole one, U+258F an eighth. */
static void draw_bar(double share, char text[BAR_TEXT])
{
    const int eighths = share > 0 ? (int)(share * BAR * 8 + 0.5) : 0;
    size_t used = 0;
    for (int left = eighths; left > 0; left -= 8) {
        const int part = left < 8 ? left : 8;
        const char block[] = {'\xe2', '\x96', (char)(unsigned char)(0x90 - part), 0};
        memcpy(text + used, block, sizeof block - 1);
        used += sizeof block - 1;
    }
    text[used] = 0;
}

/* Whether a point has the largest D, above 1, and the excess of the steps that end there. */
static void mark_text(const cli_sweep *sweep, size_t point, char *text, size_t size)
{
    const size_t most = sweep->samples ? sweep->measured_most : sweep->most;
    const double *dominance = sweep->samples ? sweep->measured_dominance : sweep->dominance;
    size_t used = 0;
    text[0] = 0;
    if (point == most && dominance[most] > 1) {
        used += (size_t)snprintf(text, size, "D_max");
    }
    for (size_t i = 0; i < sweep->step_count && used < size; i++) {
        const cli_sweep_step *step = &sweep->steps[i];
        if (step->to == point) {
            used += (size_t)snprintf(text + used, size - used, "%sE %.2f%s", used ? ", " : "",
                                     sweep->samples ? step->measured : step->predicted,
                                     step->cliff ? "" : "?");
        }
    }
}

static void add_dominance(cli_table *table, double dominance)
{
    char text[32] = "";
    if (dominance > 0) {
        snprintf(text, sizeof text, "%.2f", dominance);
    }
    cli_table_add(table, "%s", text);
}

/* Does any point contain another? */
static bool has_dominance(const cli_sweep *sweep)
{
    return sweep->most < sweep->count;
}

static void add_row(cli_table *table, const cli_sweep *sweep, size_t index, double largest)
{
    const cli_sweep_point *p = &sweep->points[index];
    char bar[BAR_TEXT], mark[96];
    for (size_t i = 0; i < sweep->grid.axes; i++) {
        cli_table_add(table, "%s", sweep->ranges[i].texts[p->value[i]]);
    }
    cli_table_add(table, "%s", cli_word_seconds(p->time.median).text);
    cli_table_add(table, "%s", cli_word_seconds(p->time.low).text);
    cli_table_add(table, "%s", cli_word_seconds(p->time.high).text);
    if (has_dominance(sweep)) {
        add_dominance(table, sweep->dominance[index]);
    }
    if (sweep->samples) {
        cli_table_add(table, "%zu", p->measured.n);
        cli_table_add(table, "%s", cli_word_seconds(p->measured.median).text);
        cli_table_add(table, "%s", cli_word_seconds(p->measured.min).text);
        cli_table_add(table, "%.2f", p->measured.median / p->time.median);
    }
    if (sweep->samples && has_dominance(sweep)) {
        add_dominance(table, sweep->measured_dominance[index]);
    }
    draw_bar(cli_sweep_seconds(sweep, index) / largest, bar);
    mark_text(sweep, index, mark, sizeof mark);
    cli_table_add(table, "%s", bar);
    cli_table_add(table, "%s", mark);
    cli_table_add(table, "%s", p->kernel);
    cli_table_add(table, "%s", p->knobs);
}

static bool print_table(const cli_sweep *sweep, cli_failure *failure)
{
    static const char *const predicted[] = {"predicted", "90% low", "90% high", "D"},
                             *const measured[] = {"n", "measured", "min", "ratio", "D"},
                             *const last[] = {"", "", "kernel", "knobs"};
    const size_t with_d = has_dominance(sweep);
    const char *head[CLI_GRID_AXES + 16];
    char align[CLI_GRID_AXES + 16] = "";
    size_t columns = 0;
    for (size_t i = 0; i < sweep->grid.axes; i++) {
        head[columns++] = sweep->ranges[i].words;
    }
    memset(align, 'r', sizeof align - 1);
    for (size_t i = 0; i < 3 + with_d; i++) {
        head[columns++] = predicted[i];
    }
    for (size_t i = 0; sweep->samples && i < 4 + with_d; i++) {
        head[columns++] = measured[i];
    }
    for (size_t i = 0; i < 4; i++) {
        align[columns] = "wllL"[i];
        head[columns++] = last[i];
    }
    align[columns] = 0;
    double largest = 0;
    for (size_t i = 0; i < sweep->count; i++) {
        const double own = cli_sweep_seconds(sweep, i);
        largest = own > largest ? own : largest;
    }
    cli_table table;
    cli_table_begin(&table, align, head);
    for (size_t i = 0; i < sweep->count; i++) {
        add_row(&table, sweep, i, largest);
    }
    return cli_table_print(&table, stdout) || cli_fail_memory(failure);
}

static void print_dominance(const cli_sweep *sweep, const char *what, const double *dominance,
                            size_t most)
{
    char values[VALUES_TEXT];
    if (most == sweep->count) {
        return;
    }
    cli_sweep_values(sweep, most, 0, values, sizeof values);
    cli_line(stdout,
             "D_max %.2f %s, at %s: its time over the least time of the problems that contain it",
             dominance[most], what, values);
}

static void print_steps(const cli_sweep *sweep)
{
    for (size_t i = 0; i < sweep->step_count; i++) {
        const cli_sweep_step *step = &sweep->steps[i];
        char from[VALUES_TEXT], to[VALUES_TEXT], sure[64] = "";
        cli_sweep_values(sweep, step->from, 0, from, sizeof from);
        cli_sweep_values(sweep, step->to, 0, to, sizeof to);
        if (sweep->samples) {
            snprintf(sure, sizeof sure, ", measured %.2f (95%% above %.2f)", step->measured,
                     step->sure);
        }
        cli_line(stdout, "E %.2f predicted%s from %s to %s%s", step->predicted, sure, from, to,
                 step->cliff ? ": a cliff" : "");
    }
    if (!sweep->step_count) {
        printf("no step with E above %.1f\n", CLI_EXCESS_CLIFF);
    }
}

bool cli_sweep_print(const cli_sweep *sweep, cli_failure *failure)
{
    if (!print_table(sweep, failure)) {
        return false;
    }
    putchar('\n');
    print_dominance(sweep, "predicted", sweep->dominance, sweep->most);
    if (sweep->samples) {
        print_dominance(sweep, "measured", sweep->measured_dominance, sweep->measured_most);
    }
    print_steps(sweep);
    return true;
}

/* {"pad": 1, "layout": "nchw"}. A word is the command's own: letters, digits, '_'. */
static void add_values(cJSON *object, const char *key, const cli_sweep *sweep, size_t point)
{
    cJSON *values = cJSON_AddObjectToObject(object, key);
    for (size_t i = 0; i < sweep->grid.axes; i++) {
        const cli_range *range = &sweep->ranges[i];
        const size_t value = sweep->points[point].value[i];
        for (const char *at = range->words; at; at = strchr(at, '+')) {
            at += *at == '+';
            char word[64];
            snprintf(word, sizeof word, "%.*s", (int)strcspn(at, "+"), at);
            if (range->numbers) {
                cli_json_number(values, word, (double)range->numbers[value]);
            } else {
                cli_json_text(values, word, range->texts[value]);
            }
        }
    }
}

static void add_or_null(cJSON *object, const char *key, double value)
{
    cJSON_AddItemToObject(object, key, value > 0 ? cJSON_CreateNumber(value) : cJSON_CreateNull());
}

static void add_measured(cJSON *object, const cli_sweep *sweep, const cli_statistics *s)
{
    if (!sweep->samples) {
        cJSON_AddNullToObject(object, "measured");
        return;
    }
    cJSON *measured = cJSON_AddObjectToObject(object, "measured");
    cli_json_number(measured, "n", (double)s->n);
    cli_json_number(measured, "median", s->median);
    cli_json_number(measured, "min", s->min);
    cli_json_number(measured, "max", s->max);
    cli_json_number(measured, "mean", s->mean);
    cli_json_number(measured, "variance", s->variance);
}

static double dominance_at(const double *dominance, size_t point, size_t count)
{
    return dominance && point < count ? dominance[point] : 0;
}

static void add_point(cJSON *points, const cli_sweep *sweep, size_t index)
{
    const cli_sweep_point *p = &sweep->points[index];
    cJSON *object = cli_json_object_in(points);
    add_values(object, "values", sweep, index);
    cli_json_text(object, "problem", p->problem);
    cli_json_text(object, "kernel", p->kernel);
    cli_json_text(object, "knobs", p->knobs);
    cli_json_time(object, &p->time);
    add_measured(object, sweep, &p->measured);
    cJSON *own = cJSON_AddObjectToObject(object, "dominance");
    add_or_null(own, "predicted", dominance_at(sweep->dominance, index, sweep->count));
    add_or_null(own, "measured", dominance_at(sweep->measured_dominance, index, sweep->count));
}

static void add_step(cJSON *steps, const cli_sweep *sweep, const cli_sweep_step *step)
{
    cJSON *object = cli_json_object_in(steps);
    add_values(object, "from", sweep, step->from);
    add_values(object, "to", sweep, step->to);
    cli_json_number(object, "predicted", step->predicted);
    add_or_null(object, "measured", step->measured);
    add_or_null(object, "measured_low", step->sure);
    cJSON_AddBoolToObject(object, "cliff", step->cliff);
}

bool cli_sweep_print_json(const cli_sweep *sweep, cli_failure *failure)
{
    cJSON *results, *document = cli_json_begin("sweep", &results);
    cJSON *result = cli_json_object_in(results);
    cli_json_text(result, "name", sweep->problem);
    cJSON *points = cJSON_AddArrayToObject(result, "points");
    for (size_t i = 0; i < sweep->count; i++) {
        add_point(points, sweep, i);
    }
    cJSON *most = cJSON_AddObjectToObject(result, "dominance");
    add_or_null(most, "predicted", dominance_at(sweep->dominance, sweep->most, sweep->count));
    add_or_null(most, "measured",
                dominance_at(sweep->measured_dominance, sweep->measured_most, sweep->count));
    cJSON *steps = cJSON_AddArrayToObject(result, "excess");
    for (size_t i = 0; i < sweep->step_count; i++) {
        add_step(steps, sweep, &sweep->steps[i]);
    }
    return cli_json_print(document, failure);
}
