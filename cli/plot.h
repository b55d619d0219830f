/* SPDX-License-Identifier: Apache-2.0 */
/* A plot of times over values: lines of points, each coloured by its group, with intervals around
 * them, and what is remarkable marked. */
#ifndef CLI_PLOT_H
#define CLI_PLOT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct cli_plot_point {
    double x, y;      /* y not below 0 */
    double low, high; /* an interval around y */
    size_t group;
    char note[192]; /* shown where the pointer rests */
} cli_plot_point;

typedef struct cli_plot_line {
    const char *name;             /* written at its end; "": nowhere */
    const cli_plot_point *points; /* x ascends */
    size_t count;
    bool dashed; /* thin and without points: what the lines with points are compared with */
    bool band;   /* draws the intervals */
} cli_plot_line;

/* A ring around a point with a short label, or (width > 0) the step that ends there. */
typedef struct cli_plot_mark {
    double x, y, width;
    char label[32];
} cli_plot_mark;

typedef struct cli_plot {
    const char *title, *subtitle, *x_label, *y_label;
    /* Texts at values of x, ascending; NULL: at round numbers. */
    const char *const *x_names;
    const double *x_values;
    size_t x_count;
    bool x_log;
    bool y_linear; /* else logarithmic where values differ much */
    const cli_plot_line *lines;
    size_t line_count;
    const char *const *groups; /* their names, by index */
    size_t group_count;
    const char *dashed_name; /* name of the dashed lines; NULL: no dashed lines */
    const cli_plot_mark *marks;
    size_t mark_count;
} cli_plot;

/* Plots below each other, as one SVG that is readable on light and on dark; free() it. NULL: out of
 * memory. */
char *cli_plot_draw(const cli_plot *plots, size_t count, size_t *size);

#endif
