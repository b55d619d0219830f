/* SPDX-License-Identifier: Apache-2.0 */
/* Dominance and step excess of a grid of times. */
#include "cliffs.h"

#include <stdlib.h>
#include <string.h>

size_t cli_grid_points(const cli_grid *grid)
{
    return cli_grid_stride(grid, grid->axes);
}

size_t cli_grid_stride(const cli_grid *grid, size_t axis)
{
    size_t stride = 1;
    for (size_t i = 0; i < axis; i++) {
        stride *= grid->extent[i];
    }
    return stride;
}

size_t cli_grid_value(const cli_grid *grid, size_t point, size_t axis)
{
    return point / cli_grid_stride(grid, axis) % grid->extent[axis];
}

/* The least of the best of those that are a step larger on one axis; 0: nothing is larger. */
static double least_containing(const cli_grid *grid, const double *best, size_t point)
{
    double least = 0;
    for (size_t axis = 0; axis < grid->axes; axis++) {
        if (grid->contains[axis] && cli_grid_value(grid, point, axis) + 1 < grid->extent[axis]) {
            const double next = best[point + cli_grid_stride(grid, axis)];
            least = least == 0 || next < least ? next : least;
        }
    }
    return least;
}

/* From the last point to the first: what contains a point comes behind it, so `dominance` holds
 * the least time of each point and all that contain it while this runs. */
void cli_dominance(const cli_grid *grid, const double *seconds, double *dominance)
{
    const size_t points = cli_grid_points(grid);
    for (size_t i = points; i-- > 0;) {
        const double least = least_containing(grid, dominance, i);
        dominance[i] = least > 0 && least < seconds[i] ? least : seconds[i];
    }
    for (size_t i = 0; i < points; i++) {
        const double least = least_containing(grid, dominance, i);
        dominance[i] = least > 0 ? seconds[i] / least : 0;
    }
}

size_t cli_dominance_most(const double *dominance, size_t points)
{
    size_t most = points;
    for (size_t i = 0; i < points; i++) {
        if (dominance[i] > 0 && (most == points || dominance[i] > dominance[most])) {
            most = i;
        }
    }
    return most;
}

static double over_work(double ratio, double work_ratio)
{
    return work_ratio > 1 ? ratio / work_ratio : ratio;
}

double cli_excess(double seconds, double next_seconds, double work, double next_work)
{
    if (!(seconds > 0 && next_seconds > 0)) {
        return 1;
    }
    return next_seconds > seconds ? over_work(next_seconds / seconds, next_work / work)
                                  : over_work(seconds / next_seconds, work / next_work);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* How many of the smallest may be left out so that the next is below the median in 95 of 100 cases:
 * the most with P(at most so many heads of n coins) <= 0.05. n: not even one is. */
static size_t bound_index(size_t n)
{
    double probability = 1, sum;
    for (size_t i = 0; i < n; i++) {
        probability /= 2;
    }
    size_t index = n;
    sum = probability;
    for (size_t heads = 0; heads < n && sum <= 0.05; heads++) {
        index = heads;
        probability *= (double)(n - heads) / (double)(heads + 1);
        sum += probability;
    }
    return index;
}

double cli_excess_bound(const double *seconds, const double *next_seconds, size_t rounds,
                        double work, double next_work)
{
    /* more rounds than this make the bound no more useful, and 2^-n nothing */
    const size_t n = rounds < 1000 ? rounds : 1000, index = bound_index(n);
    double *ratios = index < n ? malloc(2 * n * sizeof *ratios) : NULL;
    if (!ratios) {
        return 0;
    }
    for (size_t i = 0; i < n; i++) {
        ratios[i] = next_seconds[i] / seconds[i];
        ratios[n + i] = seconds[i] / next_seconds[i];
    }
    qsort(ratios, n, sizeof *ratios, compare);
    qsort(ratios + n, n, sizeof *ratios, compare);
    const double up = over_work(ratios[index], next_work / work),
                 down = over_work(ratios[n + index], work / next_work);
    free(ratios);
    return up > down ? up : down;
}
