/* SPDX-License-Identifier: Apache-2.0 */
/* An axis of a plot: from values to places, and the values that are written at it. */
#ifndef CLI_PLOT_AXIS_H
#define CLI_PLOT_AXIS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_MAX_TICKS = 32 };

typedef struct cli_axis {
    double low, high; /* values */
    double from, to;  /* their places */
    bool log;
} cli_axis;

double cli_axis_place(const cli_axis *axis, double value);

/* Round values on the axis, ascending, about `wanted` (1 to 16) of them, at steps of 1, 2 or 5
 * times a power of ten. whole: only whole numbers. Returns how many. */
size_t cli_axis_ticks(const cli_axis *axis, size_t wanted, bool whole, double ticks[CLI_MAX_TICKS]);

#endif
