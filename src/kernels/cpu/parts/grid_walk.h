/* SPDX-License-Identifier: Apache-2.0 */
/* The walk over the output pixels of a phase, in the order of its grid: image after image, or the
 * same row of all images after another. */
#ifndef RY_KERNELS_CPU_PARTS_GRID_WALK_H
#define RY_KERNELS_CPU_PARTS_GRID_WALK_H

#include "kernels/cpu/parts/conv_geometry.h"

typedef struct ry_grid_walk {
    int64_t n, q[RY_SPACE]; /* the image, and the position in its grid */
    int64_t alternating;    /* images whose rows alternate; 1: none do */
} ry_grid_walk;

/* At pixel `first` of the images from `image` on. */
static inline ry_grid_walk ry_grid_walk_at(const ry_conv_phase *phase, int64_t image, int64_t first,
                                           int64_t alternating)
{
    const int64_t *grid = phase->grid, rest = first % phase->pixels;
    if (alternating > 1) {
        const int64_t row = first / (alternating * grid[2]);
        return (ry_grid_walk){first / grid[2] % alternating,
                              {row / grid[1], row % grid[1], first % grid[2]},
                              alternating};
    }
    return (ry_grid_walk){image + first / phase->pixels,
                          {rest / (grid[1] * grid[2]), rest / grid[2] % grid[1], rest % grid[2]},
                          1};
}

/* Where a tap without offset reads there, in elements of x. */
static inline int64_t ry_grid_walk_source(const ry_grid_walk *walk, const ry_conv_geometry *g)
{
    int64_t at = walk->n * g->x_batch;
    for (int i = 0; i < RY_SPACE; i++) {
        at += walk->q[i] * g->stride[i] * g->x_step[i];
    }
    return at;
}

/* Moves on by `length` pixels, at most to the row's end. */
static inline void ry_grid_walk_on(ry_grid_walk *walk, const int64_t *grid, int64_t length)
{
    int64_t *q = walk->q;
    q[2] += length;
    if (q[2] == grid[2] && walk->n + 1 < walk->alternating) {
        q[2] = 0;
        walk->n++;
        return;
    }
    walk->n = walk->alternating > 1 && q[2] == grid[2] ? 0 : walk->n;
    for (int i = RY_SPACE - 1; i > 0 && q[i] == grid[i]; i--) {
        q[i] = 0;
        q[i - 1]++;
    }
    if (q[0] == grid[0]) {
        q[0] = 0;
        walk->n++;
    }
}

#endif
