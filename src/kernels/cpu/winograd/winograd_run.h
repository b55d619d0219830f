/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of tiles along a row (winograd_plan.h). */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_RUN_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_RUN_H

#include "kernels/cpu/winograd/winograd_plan.h"

/* Consecutive tiles of one row of tiles, and of one phase of a dilated axis, or of all phases in
 * whole groups of interleaved tiles. */
typedef struct winograd_run {
    int64_t image, depth; /* the output's */
    int64_t row, column;  /* the first tile's, in the axes' tables */
    int64_t count;
} winograd_run;

/* The run that begins at tile `first`: at most `max` tiles (whole groups), within `span` positions
 * of the row, each `reach` positions long. */
winograd_run ry_winograd_find_run(const winograd_plan *plan, int64_t first, int64_t max,
                                  int64_t read_span, int64_t span);

/* Offsets of the run's first output in y and in the residual, of phase 0; it may be before them
 * (ry_winograd_inside). */
void ry_winograd_place_run(const winograd_plan *plan, const winograd_run *run, int64_t *y,
                           int64_t *r);

#endif
