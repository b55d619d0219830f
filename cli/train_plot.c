/* SPDX-License-Identifier: Apache-2.0 */
/* Losses over steps: of training the mean of each stretch with the smallest and the largest around
 * it, of validation every one. */
#include "output_file.h"
#include "plot.h"
#include "train_log.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* As many points as the plot is wide have room for. */
enum { STRETCHES = 150 };

static cli_plot_point point_of(const cli_loss_point *losses, size_t count, size_t group)
{
    cli_plot_point p = {.low = losses[0].loss, .high = losses[0].loss, .group = group};
    for (size_t i = 0; i < count; i++) {
        p.x += losses[i].step / (double)count;
        p.y += losses[i].loss / (double)count;
        p.low = fmin(p.low, losses[i].loss);
        p.high = fmax(p.high, losses[i].loss);
    }
    snprintf(p.note, sizeof p.note, "step %.0f: %.6g", losses[count - 1].step, p.y);
    return p;
}

/* At most STRETCHES points of finite losses. */
static size_t gather(const cli_losses *losses, size_t group, cli_plot_point *points)
{
    size_t count = 0;
    const size_t stretches = losses->count < STRETCHES ? losses->count : STRETCHES;
    for (size_t i = 0; i < stretches; i++) {
        const size_t from = losses->count * i / stretches, to = losses->count * (i + 1) / stretches;
        points[count] = point_of(losses->points + from, to - from, group);
        count += isfinite(points[count].y) != 0;
    }
    return count;
}

bool cli_train_plot(const cli_train_log *log, const char *title, const char *loss, const char *path,
                    cli_failure *failure)
{
    static const char *const groups[] = {"training", "validation"};
    cli_plot_point *points = calloc((size_t)2 * STRETCHES, sizeof *points);
    if (!points) {
        return cli_fail_memory(failure);
    }
    const size_t training = gather(&log->training, 0, points),
                 validation = gather(&log->validation, 1, points + STRETCHES);
    const cli_plot_line lines[] = {
        {.name = "", .points = points, .count = training, .band = true},
        {.name = "", .points = points + STRETCHES, .count = validation},
    };
    char label[128], subtitle[128];
    snprintf(label, sizeof label, "loss (%s)", loss);
    snprintf(subtitle, sizeof subtitle, "%zu steps%s", log->training.count,
             training < log->training.count ? ", averaged over intervals" : "");
    const cli_plot plot = {.title = title,
                           .subtitle = subtitle,
                           .x_label = "step",
                           .y_label = label,
                           .lines = lines,
                           .line_count = validation ? 2 : 1,
                           .groups = groups,
                           .group_count = validation ? 2 : 1};
    size_t size = 0;
    char *text = cli_plot_draw(&plot, &size);
    free(points);
    const bool done = text ? cli_file_write(path, text, size, failure) : cli_fail_memory(failure);
    free(text);
    return done;
}
