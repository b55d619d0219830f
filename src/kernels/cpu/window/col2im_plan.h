/* SPDX-License-Identifier: Apache-2.0 */
/* col2im as rows of the image: a unit is a row along the last dim, which adds the columns' elements
 * of each block that meets it. */
#ifndef RY_KERNELS_CPU_WINDOW_COL2IM_PLAN_H
#define RY_KERNELS_CPU_WINDOW_COL2IM_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "problem/window.h"

typedef struct col2im_plan {
    ry_window window;
    int64_t rows;            /* rows per plane: product of the spatial dims but the last */
    int64_t taps, positions; /* elements of a block; blocks */
    ry_cut_axis units;       /* rows of all planes */
    int64_t values, pitch;   /* a row's values; those a stride apart are together */
    bool known;              /* readers of each row are kept for the next planes */
    size_t row;              /* bytes of scratch before the row */
} col2im_plan;

/* Where blocks along the last dim have their tap inside the image: blocks first .. first + n - 1,
 * the first's at value `to` of the row. */
typedef struct col2im_tap {
    int64_t first, n, to;
} col2im_tap;

/* col2im_tap and rows' readers that scratch keeps at most */
enum { COL2IM_TAPS = 64, COL2IM_ROWS = 1024 };

bool ry_col2im_applicable(const ry_problem *problem);
/* scratch: COL2IM_TAPS of col2im_tap, readers of COL2IM_ROWS at most, a row of 8-byte values */
rynd_status ry_col2im_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_col2im_initialise(const ry_query *query, void *state); /* a col2im_plan */

#endif
