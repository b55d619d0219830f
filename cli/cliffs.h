/* SPDX-License-Identifier: Apache-2.0 */
/* Cliffs: smaller problems that take longer than larger ones, and steps that cost more than their
 * work.
 *
 * A grid has a point for each combination of its axes' values, which ascend; the first axis runs
 * fastest. */
#ifndef CLI_CLIFFS_H
#define CLI_CLIFFS_H

#include <stdbool.h>
#include <stddef.h>

enum { CLI_GRID_AXES = 6 };

typedef struct cli_grid {
    size_t axes, extent[CLI_GRID_AXES];
    /* the problem with a larger value contains the one with a smaller value (padding, channels) */
    bool contains[CLI_GRID_AXES];
    /* values are numbers: one can be a step away from the next */
    bool numeric[CLI_GRID_AXES];
} cli_grid;

size_t cli_grid_points(const cli_grid *grid);
/* Points from one value of an axis to the next. */
size_t cli_grid_stride(const cli_grid *grid, size_t axis);
/* The index of a point's value on an axis. */
size_t cli_grid_value(const cli_grid *grid, size_t point, size_t axis);

/* Dominance: a point's seconds over the least of those points that contain it, itself left out. At
 * most 1 where no cliff is. 0 where nothing contains the point. `dominance` has room for all. */
void cli_dominance(const cli_grid *grid, const double *seconds, double *dominance);
/* The index of the largest; points when all are 0. */
size_t cli_dominance_most(const double *dominance, size_t points);

/* Step excess: how much more the slower of two neighbours takes than the faster, over how much more
 * work it is (at least 1). 1 where one takes no time. */
double cli_excess(double seconds, double next_seconds, double work, double next_work);

/* A lower bound of the excess that holds with 95% confidence: times of both in the same rounds. It
 * is an order statistic of the rounds' ratios (the sign test's). 0: too few rounds to know. */
double cli_excess_bound(const double *seconds, const double *next_seconds, size_t rounds,
                        double work, double next_work);

/* Where a step is a cliff: its excess, and the bound of a measured one. */
#define CLI_EXCESS_CLIFF 1.5
#define CLI_EXCESS_SURE  1.25

#endif
