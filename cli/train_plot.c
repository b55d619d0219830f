/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and accuracies over steps: of training the mean of each stretch with the smallest and the
 * largest around it, of validation every one. */
#include "output_file.h"
#include "plot.h"
#include "train_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* As many points as the plot is wide have room for. */
enum { STRETCHES = 150 };

/* A curve's number at a point, as it is drawn. */
typedef double (*value_function)(const cli_curve_point *point);

static double loss_of(const cli_curve_point *point)
{
    return point->loss;
}

static double percent_of(const cli_curve_point *point)
{
    return point->accuracy < 0 ? NAN : 100 * point->accuracy;
}

static cli_plot_point point_of(const cli_curve_point *curve, size_t count, value_function value,
                               size_t group)
{
    cli_plot_point p = {.low = value(&curve[0]), .high = value(&curve[0]), .group = group};
    for (size_t i = 0; i < count; i++) {
        const double v = value(&curve[i]);
        p.x += curve[i].step / (double)count;
        p.y += v / (double)count;
        p.low = fmin(p.low, v);
        p.high = fmax(p.high, v);
    }
    snprintf(p.note, sizeof p.note, "step %.0f: %.6g", curve[count - 1].step, p.y);
    return p;
}

/* At most STRETCHES points of finite values. */
static size_t gather(const cli_curve *curve, value_function value, size_t group,
                     cli_plot_point *points)
{
    size_t count = 0;
    const size_t stretches = curve->count < STRETCHES ? curve->count : STRETCHES;
    for (size_t i = 0; i < stretches; i++) {
        const size_t from = curve->count * i / stretches, to = curve->count * (i + 1) / stretches;
        points[count] = point_of(curve->points + from, to - from, value, group);
        count += isfinite(points[count].y) != 0;
    }
    return count;
}

static const char *const groups[] = {"training", "validation"};

/* The lines of training and validation, and the points that they have room for. */
typedef struct panel {
    cli_plot_point points[2 * STRETCHES];
    cli_plot_line lines[2];
    cli_plot plot;
} panel;

static void fill(panel *p, const cli_train_log *log, value_function value)
{
    const size_t training = gather(&log->training, value, 0, p->points),
                 validation = gather(&log->validation, value, 1, p->points + STRETCHES);
    p->lines[0] = (cli_plot_line){.name = "", .points = p->points, .count = training, .band = true};
    p->lines[1] = (cli_plot_line){.name = "", .points = p->points + STRETCHES, .count = validation};
    p->plot = (cli_plot){.title = "",
                         .subtitle = "",
                         .x_label = "step",
                         .lines = p->lines,
                         .line_count = validation ? 2 : 1,
                         .groups = groups,
                         .group_count = validation ? 2 : 1};
}

bool cli_train_plot(const cli_train_log *log, const char *title, const char *loss, const char *path,
                    cli_failure *failure)
{
    panel *panels = calloc(2, sizeof *panels);
    if (!panels) {
        return cli_fail_memory(failure);
    }
    char label[128], subtitle[128];
    fill(&panels[0], log, loss_of);
    fill(&panels[1], log, percent_of);
    snprintf(label, sizeof label, "loss (%s)", loss);
    snprintf(subtitle, sizeof subtitle, "%zu steps%s", log->training.count,
             panels[0].lines[0].count < log->training.count ? ", averaged over intervals" : "");
    panels[0].plot.title = title;
    panels[0].plot.subtitle = subtitle;
    panels[0].plot.y_label = label;
    panels[1].plot.y_label = strcmp(loss, "detection") == 0 ? "mAP (%)" : "samples right (%)";
    panels[1].plot.y_linear = true;
    const bool classes = panels[1].lines[0].count > 0;
    const cli_plot plots[] = {panels[0].plot, panels[1].plot};
    size_t size = 0;
    char *text = cli_plot_draw(plots, classes ? 2 : 1, &size);
    free(panels);
    const bool done = text ? cli_file_write(path, text, size, failure) : cli_fail_memory(failure);
    free(text);
    return done;
}
