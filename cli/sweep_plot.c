/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a sweep: of each combination of the further ranges' values a line over the first range. */
#include "output_file.h"
#include "plot.h"
#include "sweep_report.h"
#include "wording.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME = 160 };

/* Intervals of more lines would hide one another. */
static const size_t MOST_BANDS = 3;
/* More values than this get round numbers at their axis. */
static const size_t MOST_OWN_TICKS = 16;

typedef struct picture {
    const cli_sweep *sweep;
    size_t across, line_count; /* points of a line */
    cli_plot_point *points, *predicted;
    cli_plot_line *lines;
    char (*names)[NAME];
    cli_plot_mark *marks;
    size_t mark_count;
    const char **groups;
    size_t group_count;
    const char **x_names;
    double *x_values;
    double unit;
} picture;

static bool make_room(picture *p)
{
    const size_t count = p->sweep->count;
    p->points = calloc(count, sizeof *p->points);
    p->predicted = calloc(count, sizeof *p->predicted);
    p->lines = calloc(2 * p->line_count, sizeof *p->lines);
    p->names = calloc(p->line_count, sizeof *p->names);
    p->marks = calloc(p->sweep->step_count + 2, sizeof *p->marks);
    p->groups = calloc(count, sizeof *p->groups);
    p->x_names = calloc(p->across, sizeof *p->x_names);
    p->x_values = calloc(p->across, sizeof *p->x_values);
    return p->points && p->predicted && p->lines && p->names && p->marks && p->groups &&
           p->x_names && p->x_values;
}

static void free_room(picture *p)
{
    free(p->points);
    free(p->predicted);
    free(p->lines);
    free(p->names);
    free(p->marks);
    free((void *)p->groups);
    free((void *)p->x_names);
    free(p->x_values);
}

static size_t group_of(picture *p, const char *kernel)
{
    size_t i = 0;
    while (i < p->group_count && strcmp(p->groups[i], kernel) != 0) {
        i++;
    }
    if (i == p->group_count) {
        p->groups[p->group_count++] = kernel;
    }
    return i;
}

/* The unit in which the longest time has at most three digits before the point. */
static const char *find_unit(picture *p)
{
    static const struct {
        double seconds;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}};
    double largest = 0;
    size_t i = 0;
    for (size_t at = 0; at < p->sweep->count; at++) {
        const double own = cli_sweep_seconds(p->sweep, at);
        largest = own > largest ? own : largest;
    }
    while (i + 1 < sizeof units / sizeof *units && largest < units[i].seconds) {
        i++;
    }
    p->unit = units[i].seconds;
    return units[i].name;
}

static double x_of(const cli_sweep *sweep, size_t point)
{
    const cli_range *range = &sweep->ranges[0];
    const size_t value = sweep->points[point].value[0];
    return range->numbers ? (double)range->numbers[value] : (double)value;
}

static void add_point(picture *p, size_t index)
{
    const cli_sweep *sweep = p->sweep;
    const cli_sweep_point *from = &sweep->points[index];
    cli_plot_point *to = &p->points[index];
    char values[96], measured[48] = "";
    cli_sweep_values(sweep, index, 0, values, sizeof values);
    if (sweep->samples) {
        snprintf(measured, sizeof measured, ", measured %s",
                 cli_word_seconds(from->measured.median).text);
    }
    *to = (cli_plot_point){.x = x_of(sweep, index),
                           .y = cli_sweep_seconds(sweep, index) / p->unit,
                           .low = from->time.low / p->unit,
                           .high = from->time.high / p->unit,
                           .group = group_of(p, from->kernel)};
    snprintf(to->note, sizeof to->note, "%.64s: predicted %s%s, %.64s", values,
             cli_word_seconds(from->time.median).text, measured, from->kernel);
    p->predicted[index] = *to;
    p->predicted[index].y = from->time.median / p->unit;
}

static void add_lines(picture *p)
{
    const bool measured = p->sweep->samples != NULL, bands = p->line_count <= MOST_BANDS;
    for (size_t l = 0; l < p->line_count; l++) {
        const size_t first = l * p->across;
        cli_sweep_values(p->sweep, first, 1, p->names[l], NAME);
        p->lines[l] = (cli_plot_line){.name = p->names[l],
                                      .points = p->points + first,
                                      .count = p->across,
                                      .band = bands && !measured};
        if (measured) {
            p->lines[p->line_count + l] = (cli_plot_line){.name = "",
                                                          .points = p->predicted + first,
                                                          .count = p->across,
                                                          .dashed = true,
                                                          .band = bands};
        }
    }
}

static void add_marks(picture *p)
{
    const cli_sweep *sweep = p->sweep;
    const double *dominance = sweep->samples ? sweep->measured_dominance : sweep->dominance;
    const size_t most = sweep->samples ? sweep->measured_most : sweep->most;
    for (size_t i = 0; i < sweep->step_count; i++) {
        const cli_sweep_step *step = &sweep->steps[i];
        if (step->cliff && step->axis == 0) {
            cli_plot_mark *mark = &p->marks[p->mark_count++];
            *mark = (cli_plot_mark){.x = p->points[step->to].x,
                                    .y = p->points[step->to].y,
                                    .width = p->points[step->to].x - p->points[step->from].x};
            snprintf(mark->label, sizeof mark->label, "E %.2f",
                     sweep->samples ? step->measured : step->predicted);
        }
    }
    if (most < sweep->count && dominance[most] > 1) {
        cli_plot_mark *mark = &p->marks[p->mark_count++];
        *mark = (cli_plot_mark){.x = p->points[most].x, .y = p->points[most].y};
        snprintf(mark->label, sizeof mark->label, "D_max %.2f", dominance[most]);
    }
}

/* Values that multiply rather than add: the last step takes much of the whole. */
static bool is_geometric(const cli_range *range)
{
    const size_t n = range->count;
    return range->numbers && n >= 4 && range->numbers[0] > 0 &&
           (double)(range->numbers[n - 1] - range->numbers[n - 2]) >
               0.3 * (double)(range->numbers[n - 1] - range->numbers[0]);
}

static char *draw(picture *p, const char *machine, size_t *size)
{
    const cli_sweep *sweep = p->sweep;
    const cli_range *first = &sweep->ranges[0];
    const char *unit = find_unit(p);
    char label[64], subtitle[256];
    for (size_t i = 0; i < sweep->count; i++) {
        add_point(p, i);
    }
    for (size_t i = 0; i < p->across; i++) {
        p->x_names[i] = first->texts[i];
        p->x_values[i] = p->points[i].x;
    }
    add_lines(p);
    add_marks(p);
    snprintf(label, sizeof label, "time (%s)", unit);
    snprintf(subtitle, sizeof subtitle, "%s on %.200s", sweep->samples ? "measured" : "predicted",
             machine);
    const cli_plot plot = {
        .title = sweep->problem,
        .subtitle = subtitle,
        .x_label = first->words,
        .y_label = label,
        .x_names = first->numbers && p->across > MOST_OWN_TICKS ? NULL : p->x_names,
        .x_values = p->x_values,
        .x_count = p->across,
        .x_log = is_geometric(first),
        .lines = p->lines,
        .line_count = sweep->samples ? 2 * p->line_count : p->line_count,
        .groups = p->groups,
        .group_count = p->group_count,
        .dashed_name = sweep->samples ? "predicted" : NULL,
        .marks = p->marks,
        .mark_count = p->mark_count,
    };
    return cli_plot_draw(&plot, 1, size);
}

bool cli_sweep_draw(const cli_sweep *sweep, const char *machine, const char *path,
                    cli_failure *failure)
{
    picture p = {.sweep = sweep, .across = sweep->grid.extent[0]};
    p.line_count = sweep->count / p.across;
    size_t size = 0;
    char *text = make_room(&p) ? draw(&p, machine, &size) : NULL;
    free_room(&p);
    const bool done = text ? cli_file_write(path, text, size, failure) : cli_fail_memory(failure);
    free(text);
    return done;
}
