/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of a resize, while the plan is prepared and filled. */
#ifndef RY_KERNELS_CPU_SAMPLE_RESIZE_TABLES_H
#define RY_KERNELS_CPU_SAMPLE_RESIZE_TABLES_H

#include "kernels/common/resize_map.h"
#include "kernels/cpu/sample/resize_plan.h"

/* Outputs whose taps a task puts into a table of the workspace. */
enum { RESIZE_FILLED = 1 << 14 };

/* Describes an axis of the resize; for a gradient, of its forward resize. */
static inline ry_resize_axis resize_axis_of(const ry_problem *problem, int dim)
{
    ry_resize_axis axis;
    ry_resize_axis_make(problem, dim, &axis);
    return axis;
}

/* What transposing an axis needs: its readers, and a row of weights. */
typedef struct resize_transposing {
    ry_resize_readers *readers;
    double *row;
} resize_transposing;

static inline resize_transposing resize_transposing_in(void *room, const ry_resize_axis *axis)
{
    ry_resize_readers *readers = room;
    return (resize_transposing){readers, (double *)(void *)(readers + axis->in)};
}

/* Fills the table of the transposed map: output i is made of the forward outputs that read it.
 * `room` is as large as resize_transposing needs. */
void ry_resize_fill_transposed(resize_plan *s, const ry_resize_axis *axis, void *room,
                               resize_axis *t);

/* Fills a table of the state; `found` has room for a window's weights. */
void ry_resize_fill_axis(resize_plan *s, const ry_resize_axis *axis, resize_axis *t, double *found);

/* Finds the outputs whose weights repeat, if the axis is enlarged by a whole number. */
void ry_resize_find_period(const resize_plan *s, resize_axis *t);

#endif
