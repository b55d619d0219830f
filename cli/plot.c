/* SPDX-License-Identifier: Apache-2.0 */
/* Lays a plot out from the top: title, marks' labels, the area with its axes, legend. Widths of
 * texts are estimated: what reads the picture has fonts of its own. */
#include "plot.h"

#include "plot_axis.h"
#include "plot_style.h"
#include "svg.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double WIDTH = 900, AREA_HEIGHT = 320, TOP = 84, LEFT = 72, RIGHT = 28, AXIS = 48,
                    LEGEND_ROW = 22, LETTER = 7.2, LABEL_ROW = 13;
/* Times of more than this ratio get a logarithmic axis: bars from 0 would show the largest only. */
static const double LOG_RATIO = 12;

enum { MAX_LABELS = 64 };

typedef struct label_place {
    double x, half; /* middle, and half its width */
    int row;
} label_place;

typedef struct drawing {
    const cli_plot *plot;
    cli_svg *svg;
    cli_axis x, y;
    double end, bottom; /* right and lower edge of the plot area */
    double radius;      /* radius of points */
    label_place labels[MAX_LABELS];
    size_t label_count;
} drawing;

/* A text's width, of letters of the small size. */
static double width_of(const char *text)
{
    double letters = 0;
    for (; *text; text++) {
        letters += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return letters * LETTER;
}

static void include(cli_axis *axis, double value, bool *first)
{
    axis->low = *first || value < axis->low ? value : axis->low;
    axis->high = *first || value > axis->high ? value : axis->high;
    *first = false;
}

/* The values that the axes must hold. */
static void find_extents(drawing *d)
{
    bool first_x = true, first_y = true;
    size_t most = 1;
    for (size_t l = 0; l < d->plot->line_count; l++) {
        const cli_plot_line *line = &d->plot->lines[l];
        most = line->count > most ? line->count : most;
        for (size_t i = 0; i < line->count; i++) {
            const cli_plot_point *p = &line->points[i];
            include(&d->x, p->x, &first_x);
            include(&d->y, p->y, &first_y);
            if (line->band) {
                include(&d->y, p->low, &first_y);
                include(&d->y, p->high, &first_y);
            }
        }
    }
    const double room = (WIDTH - LEFT - RIGHT) / (double)most / 2.4;
    d->radius = room > 4 ? 4 : room < 1.2 ? 1.2 : room;
}

static double names_width(const cli_plot *plot)
{
    double most = 0;
    for (size_t l = 0; l < plot->line_count; l++) {
        const double own = width_of(plot->lines[l].name);
        most = own > most ? own : most;
    }
    return most > 0 ? most + 12 : 0;
}

static void place_axes(drawing *d)
{
    cli_axis *x = &d->x, *y = &d->y;
    find_extents(d);
    d->end = WIDTH - RIGHT - names_width(d->plot);
    d->bottom = TOP + AREA_HEIGHT;
    x->log = d->plot->x_log;
    x->from = LEFT + 14;
    x->to = d->end - 14;
    y->from = d->bottom;
    y->to = TOP;
    y->log = !d->plot->y_linear && y->low > 0 && y->high > LOG_RATIO * y->low;
    y->low = y->log ? y->low / 1.2 : 0;
    y->high *= y->log ? 1.2 : 1.06;
}

static void draw_frame(drawing *d)
{
    const cli_plot *plot = d->plot;
    const double most = (WIDTH - 2 * 16) / 10; /* letters of the title's size */
    char title[256];
    size_t used = 0, letters = 0;
    while (plot->title[used] && used + 8 < sizeof title && (double)letters < most - 1) {
        letters += ((unsigned char)plot->title[used++] & 0xc0) != 0x80;
    }
    while (plot->title[used] && ((unsigned char)plot->title[used] & 0xc0) == 0x80) {
        used--;
    }
    snprintf(title, sizeof title, "%.*s%s", (int)used, plot->title,
             plot->title[used] ? "\xe2\x80\xa6" : "");
    cli_svg_text(d->svg, 16, 28, "class=\"t\"", title);
    cli_svg_text(d->svg, 16, 48, "class=\"s\"", plot->subtitle);
}

static void number_text(double value, char text[32])
{
    snprintf(text, 32, "%.6g", value);
}

static void draw_y_axis(drawing *d)
{
    double ticks[CLI_MAX_TICKS];
    const size_t count = cli_axis_ticks(&d->y, 7, false, ticks);
    for (size_t i = 0; i < count; i++) {
        const double at = cli_axis_place(&d->y, ticks[i]);
        char text[32];
        number_text(ticks[i], text);
        cli_svg_element(d->svg, "line",
                        "class=\"g\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"", LEFT, d->end,
                        at, at);
        cli_svg_text(d->svg, LEFT - 8, at + 4, "class=\"s\" text-anchor=\"end\"", text);
    }
    char middle[96];
    snprintf(middle, sizeof middle,
             "class=\"s\" text-anchor=\"middle\" transform=\"rotate(-90 18 %.1f)\"",
             TOP + AREA_HEIGHT / 2);
    cli_svg_text(d->svg, 18, TOP + AREA_HEIGHT / 2, middle, d->plot->y_label);
}

static void draw_x_tick(drawing *d, double value, const char *text)
{
    const double at = cli_axis_place(&d->x, value);
    cli_svg_element(d->svg, "line", "class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"",
                    at, at, d->bottom, d->bottom + 5);
    cli_svg_text(d->svg, at, d->bottom + 19, "class=\"s\" text-anchor=\"middle\"", text);
}

/* Texts that would touch the one before are left out. */
static void draw_x_axis(drawing *d)
{
    const cli_plot *plot = d->plot;
    double ticks[CLI_MAX_TICKS], free_from = 0;
    const size_t count = plot->x_names ? plot->x_count : cli_axis_ticks(&d->x, 14, true, ticks);
    cli_svg_element(d->svg, "line", "class=\"a\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"",
                    LEFT, d->end, d->bottom, d->bottom);
    for (size_t i = 0; i < count; i++) {
        const double value = plot->x_names ? plot->x_values[i] : ticks[i];
        char number[32];
        number_text(value, number);
        const char *text = plot->x_names ? plot->x_names[i] : number;
        const double at = cli_axis_place(&d->x, value), half = width_of(text) / 2;
        if (at - half >= free_from) {
            draw_x_tick(d, value, text);
            free_from = at + half + 8;
        }
    }
    cli_svg_text(d->svg, (LEFT + d->end) / 2, d->bottom + 40, "class=\"s\" text-anchor=\"middle\"",
                 plot->x_label);
}

/* The places of some of a line's points, x and y in turn; free() them. */
static double *places(drawing *d, const cli_plot_line *line, size_t from, size_t to)
{
    double *xy = calloc(2 * (to - from), sizeof *xy);
    for (size_t i = from; xy && i < to; i++) {
        xy[2 * (i - from)] = cli_axis_place(&d->x, line->points[i].x);
        xy[2 * (i - from) + 1] = cli_axis_place(&d->y, line->points[i].y);
    }
    d->svg->failed = d->svg->failed || !xy;
    return xy;
}

static void draw_path(drawing *d, const cli_plot_line *line, size_t from, size_t to,
                      const char *attributes)
{
    double *xy = to - from > 1 ? places(d, line, from, to) : NULL;
    if (xy) {
        cli_svg_path(d->svg, xy, to - from, false, attributes);
    }
    free(xy);
}

static void draw_band(drawing *d, const cli_plot_line *line)
{
    const size_t n = line->count;
    double *xy = calloc(4 * n, sizeof *xy);
    for (size_t i = 0; xy && i < n; i++) {
        const cli_plot_point *p = &line->points[i];
        xy[2 * i] = xy[2 * (2 * n - 1 - i)] = cli_axis_place(&d->x, p->x);
        xy[2 * i + 1] = cli_axis_place(&d->y, p->low);
        xy[2 * (2 * n - 1 - i) + 1] = cli_axis_place(&d->y, p->high);
    }
    d->svg->failed = d->svg->failed || !xy;
    if (xy) {
        cli_svg_path(d->svg, xy, 2 * n, true, "class=\"v\"");
    }
    free(xy);
}

/* Groups beyond the colours have the colours again, in another shape. */
static void draw_point(drawing *d, double x, double y, size_t group, double r, const char *note)
{
    const size_t shape = group / CLI_PLOT_COLOURS % 3, colour = group % CLI_PLOT_COLOURS;
    if (shape == 0) {
        cli_svg_noted(d->svg, note, "circle", "class=\"k%zu p\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"",
                      colour, x, y, r);
        return;
    }
    const double turn = shape == 1 ? 0 : 45;
    cli_svg_noted(d->svg, note, "rect",
                  "class=\"k%zu p\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                  "transform=\"rotate(%.0f %.1f %.1f)\"",
                  colour, x - r, y - r, 2 * r, 2 * r, turn, x, y);
}

/* Stretches of one group in its colour, over a thin line through all. */
static void draw_line(drawing *d, const cli_plot_line *line)
{
    if (line->dashed) {
        draw_path(d, line, 0, line->count, "class=\"m d\"");
        return;
    }
    draw_path(d, line, 0, line->count, "class=\"m\"");
    for (size_t from = 0, to; from < line->count; from = to) {
        char attributes[48];
        for (to = from + 1;
             to < line->count && line->points[to].group == line->points[from].group;) {
            to++;
        }
        snprintf(attributes, sizeof attributes, "class=\"k%zu r\"",
                 line->points[from].group % CLI_PLOT_COLOURS);
        draw_path(d, line, from, to, attributes);
    }
    for (size_t i = 0; i < line->count; i++) {
        const cli_plot_point *p = &line->points[i];
        draw_point(d, cli_axis_place(&d->x, p->x), cli_axis_place(&d->y, p->y), p->group, d->radius,
                   p->note);
    }
}

typedef struct line_end {
    const char *name;
    double y;
} line_end;

static int compare_ends(const void *a, const void *b)
{
    const double x = ((const line_end *)a)->y, y = ((const line_end *)b)->y;
    return (x > y) - (x < y);
}

/* Each beside its line's last point, or below the one before; names for which no room is left
 * below are left out. */
static void draw_names(drawing *d)
{
    const cli_plot *plot = d->plot;
    line_end *ends = calloc(plot->line_count + 1, sizeof *ends);
    size_t count = 0;
    double free_from = TOP;
    d->svg->failed = d->svg->failed || !ends;
    for (size_t l = 0; ends && l < plot->line_count; l++) {
        const cli_plot_line *line = &plot->lines[l];
        if (*line->name && line->count) {
            ends[count++] =
                (line_end){line->name, cli_axis_place(&d->y, line->points[line->count - 1].y)};
        }
    }
    if (ends) {
        qsort(ends, count, sizeof *ends, compare_ends);
    }
    for (size_t i = 0; i < count; i++) {
        const double y = ends[i].y > free_from ? ends[i].y : free_from;
        if (y <= d->bottom) {
            cli_svg_text(d->svg, d->end + 4, y + 4, "", ends[i].name);
            free_from = y + LABEL_ROW;
        }
    }
    free(ends);
}

/* Labels are in one of two rows above the area; where both are taken a mark has none. */
static void draw_label(drawing *d, double at, const char *label)
{
    const double half = width_of(label) / 2;
    const double x = at - half < LEFT ? LEFT + half : at + half > d->end ? d->end - half : at;
    for (int row = 0; row < 2; row++) {
        bool room = d->label_count < MAX_LABELS;
        for (size_t i = 0; i < d->label_count; i++) {
            const double distance = fabs(d->labels[i].x - x), wanted = half + d->labels[i].half + 6;
            room = room && (d->labels[i].row != row || distance >= wanted);
        }
        if (room) {
            cli_svg_text(d->svg, x, TOP - 6 - row * LABEL_ROW, "class=\"l\" text-anchor=\"middle\"",
                         label);
            d->labels[d->label_count++] = (label_place){x, half, row};
            return;
        }
    }
}

static double middle_of(const drawing *d, const cli_plot_mark *mark)
{
    return cli_axis_place(&d->x, mark->x - mark->width / 2);
}

/* Rings' come first: they are few. */
static void draw_labels(drawing *d)
{
    for (int steps = 0; steps < 2; steps++) {
        for (size_t i = 0; i < d->plot->mark_count; i++) {
            const cli_plot_mark *mark = &d->plot->marks[i];
            if ((mark->width > 0) == steps) {
                draw_label(d, middle_of(d, mark), mark->label);
            }
        }
    }
}

/* Draws the steps, which lie behind the lines, or the rings, which lie before them. */
static void draw_marks(drawing *d, bool steps)
{
    for (size_t i = 0; i < d->plot->mark_count; i++) {
        const cli_plot_mark *mark = &d->plot->marks[i];
        const double x = cli_axis_place(&d->x, mark->x);
        if (steps != (mark->width > 0)) {
            continue;
        }
        if (steps) {
            const double from = cli_axis_place(&d->x, mark->x - mark->width);
            cli_svg_noted(d->svg, mark->label, "rect",
                          "class=\"c\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"", from,
                          TOP, x - from, AREA_HEIGHT);
        } else {
            cli_svg_noted(d->svg, mark->label, "circle",
                          "class=\"o\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"", x,
                          cli_axis_place(&d->y, mark->y), d->radius + 4);
        }
    }
}

/* Where the last row of the legend is, which begins at `top`. */
static double draw_legend(drawing *d, double top, bool draw)
{
    const cli_plot *plot = d->plot;
    double x = LEFT, y = top;
    for (size_t i = 0; i <= plot->group_count; i++) {
        const char *name = i < plot->group_count ? plot->groups[i] : plot->dashed_name;
        if (!name) {
            continue;
        }
        const double width = width_of(name) + 34;
        if (x > LEFT && x + width > WIDTH - RIGHT) {
            x = LEFT;
            y += LEGEND_ROW;
        }
        if (draw && i < plot->group_count) {
            draw_point(d, x + 6, y - 4, i, 4.5, NULL);
        } else if (draw) {
            cli_svg_element(d->svg, "line",
                            "class=\"m d\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\"", x - 4,
                            x + 14, y - 4, y - 4);
        }
        if (draw) {
            cli_svg_text(d->svg, x + 18, y, "", name);
        }
        x += width;
    }
    return y;
}

static double height_of(drawing *d)
{
    place_axes(d);
    return draw_legend(d, d->bottom + AXIS + 20, false) + 16;
}

static void draw(drawing *d)
{
    const cli_plot *plot = d->plot;
    draw_frame(d);
    draw_y_axis(d);
    draw_x_axis(d);
    draw_marks(d, true);
    for (size_t l = 0; l < plot->line_count; l++) {
        if (plot->lines[l].band) {
            draw_band(d, &plot->lines[l]);
        }
    }
    for (size_t l = 0; l < plot->line_count; l++) {
        draw_line(d, &plot->lines[l]);
    }
    draw_marks(d, false);
    draw_labels(d);
    draw_names(d);
    draw_legend(d, d->bottom + AXIS + 20, true);
}

char *cli_plot_draw(const cli_plot *plots, size_t count, size_t *size)
{
    cli_svg svg;
    double height = 0, top = 0;
    for (size_t i = 0; i < count; i++) {
        height += height_of(&(drawing){.plot = &plots[i]});
    }
    cli_svg_begin(&svg, WIDTH, height, plots[0].title, CLI_PLOT_STYLE);
    cli_svg_element(&svg, "rect", "class=\"b\" width=\"%.0f\" height=\"%.0f\"", WIDTH, height);
    for (size_t i = 0; i < count; i++) {
        drawing d = {.plot = &plots[i], .svg = &svg};
        const double own = height_of(&d);
        cli_svg_open(&svg, "g", "transform=\"translate(0 %.0f)\"", top);
        draw(&d);
        cli_svg_close(&svg, "g");
        top += own;
    }
    return cli_svg_end(&svg, size);
}
