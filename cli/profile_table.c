/* SPDX-License-Identifier: Apache-2.0 */
/* Prints profiles: steps, or sums by operator or kernel. */
#include "profile.h"
#include "table.h"
#include "wording.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double cli_profile_limit_fraction(const cli_profile_row *row)
{
    return row->limit > 0 && row->seconds > 0 ? row->limit / row->seconds : 0;
}

static int compare(double a, double b)
{
    return (a > b) - (a < b);
}

static int by_time(const void *a, const void *b)
{
    return compare(((const cli_profile_row *)b)->seconds, ((const cli_profile_row *)a)->seconds);
}

static int by_predicted(const void *a, const void *b)
{
    return compare(((const cli_profile_row *)b)->predicted.median,
                   ((const cli_profile_row *)a)->predicted.median);
}

/* Seconds beyond the prediction. */
static int by_excess(const void *a, const void *b)
{
    const cli_profile_row *p = a, *q = b;
    return compare(q->seconds - q->predicted.median, p->seconds - p->predicted.median);
}

/* Seconds beyond the limit: what a perfect kernel would save. */
static int by_limit(const void *a, const void *b)
{
    const cli_profile_row *p = a, *q = b;
    return compare(q->seconds - q->limit, p->seconds - p->limit);
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const cli_profile_row *)a)->step.name, ((const cli_profile_row *)b)->step.name);
}

/* In the order of --sort; the first keeps the plan's order. */
static int (*const orders[])(const void *, const void *) = {NULL,      by_time,  by_predicted,
                                                            by_excess, by_limit, by_name};

static const char *key_of(const cli_profile_row *row, int by)
{
    return by == CLI_BY_OPERATOR ? row->step.op : row->step.kernel;
}

/* Adds rows with one key into the first of them; returns the number that is left. */
static size_t merge(cli_profile_row *rows, size_t count, int by)
{
    size_t groups = 0;
    for (size_t i = 0; i < count; i++) {
        size_t g = 0;
        while (g < groups && strcmp(key_of(&rows[g], by), key_of(&rows[i], by)) != 0) {
            g++;
        }
        if (g == groups) {
            rows[groups++] = rows[i];
            continue;
        }
        cli_profile_row *sum = &rows[g];
        const cli_profile_row *row = &rows[i];
        sum->limit = sum->limit > 0 && row->limit > 0 ? sum->limit + row->limit : 0;
        sum->steps += row->steps;
        sum->seconds += row->seconds;
        sum->share += row->share;
        sum->predicted.median += row->predicted.median;
        sum->step.flop += row->step.flop;
    }
    return groups;
}

static void add_row(cli_table *table, const cli_profile_row *row, int by)
{
    const cli_statistics *t = &row->time;
    if (by) {
        cli_table_add(table, "%s", key_of(row, by));
        cli_table_add(table, "%zu", row->steps);
    } else {
        cli_table_add(table, "%s", row->step.name);
        cli_table_add(table, "%s", row->step.op);
        cli_table_add(table, "%s", row->step.kernel);
    }
    cli_table_add(table, "%s", cli_word_seconds(row->seconds).text);
    if (!by) {
        cli_table_add(table, "%s", cli_word_seconds(t->quiet).text);
    }
    cli_table_add(table, "%.1f%%", 100 * row->share);
    if (!by) {
        cli_table_add(table, "%.0f%%", t->mean > 0 ? 100 * sqrt(t->variance) / t->mean : 0);
    }
    const double seconds = row->seconds > 0 ? row->seconds : 1,
                 limit = cli_profile_limit_fraction(row);
    cli_table_add(table, "%s", cli_word_seconds(row->predicted.median).text);
    cli_table_add(table, "%.1f", row->step.flop / seconds * 1e-9);
    cli_table_add(table, limit > 0 ? "%.0f%%" : "-", 100 * limit);
}

static bool print_rows(const cli_profile_row *rows, size_t count, int by)
{
    static const char *const step_head[] = {"step",  "op", "kernel",    "time",    "quiet",
                                            "share", "cv", "predicted", "Gflop/s", "of limit"};
    const char *const sum_head[] = {by == CLI_BY_OPERATOR ? "operator" : "kernel",
                                    "steps",
                                    "time",
                                    "share",
                                    "predicted",
                                    "Gflop/s",
                                    "of limit"};
    cli_table table;
    cli_table_begin(&table, by ? "lrrrrrr" : "lllrRrrrrr", by ? sum_head : step_head);
    for (size_t i = 0; i < count; i++) {
        add_row(&table, &rows[i], by);
    }
    return cli_table_print(&table, stdout);
}

bool cli_profile_print(const cli_profile *p, const cli_profile_settings *settings,
                       cli_failure *failure)
{
    cli_profile_row *rows = calloc(p->count + 1, sizeof *rows);
    if (!rows) {
        return cli_fail_memory(failure);
    }
    memcpy(rows, p->rows, p->count * sizeof *rows);
    const int by = settings->by, order = settings->sort ? settings->sort - 1 : by ? 1 : 0;
    const size_t count = by ? merge(rows, p->count, by) : p->count;
    if (orders[order]) {
        qsort(rows, count, sizeof *rows, orders[order]);
    }
    const bool printed = print_rows(rows, count, by);
    free(rows);
    if (!printed) {
        return cli_fail_memory(failure);
    }
    printf("\n%zu runs: median %s, quiet %s, min %s, max %s, disturbed %.0f%%; predicted %s "
           "(90%%: %s to %s)\n",
           p->run.n, cli_word_seconds(p->run.median).text, cli_word_seconds(p->run.quiet).text,
           cli_word_seconds(p->run.min).text, cli_word_seconds(p->run.max).text,
           100 * p->disturbance, cli_word_seconds(p->predicted.median).text,
           cli_word_seconds(p->predicted.low).text, cli_word_seconds(p->predicted.high).text);
    if (p->rest > 0) {
        printf(
            "of each run %s in steps whose shapes depend on data: a run plans them, and nothing is "
            "predicted for them\n",
            cli_word_seconds(p->rest).text);
    }
    return true;
}
