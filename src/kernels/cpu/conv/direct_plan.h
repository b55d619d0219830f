/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution, and grouped convolution with few channels, on rows of pixels.
 *
 * A task stages the input rows that its output rows need, padded, in scratch: every channel as stride_h * stride_w planes, plane (i, j) holding
 * the padded rows i, i + stride_h, ... and columns j, j + stride_w, ...  All planes have one pitch, so that an output position f = row * pitch +
 * column reads, for each tap, one position f + offset[tap], whatever the stride and dilation are. The convolution is then a sum over taps of
 * long runs, without bounds or edges; the pitch exceeds the output's width by the columns that the window reaches over, whose sums are
 * dropped. Narrow images fill vectors this way: the runs do not end with the rows.
 *
 * Depthwise without vertical dilation goes row by row instead, several output rows at once, so that a loaded vector serves all taps of a
 * column (`by_rows`); taps are ordered [plane row][tap column][tap row] for it, and the sums need no place of their own where they can be
 * written to y as they are (`direct`).
 *
 * Groups of several channels whose rows fill their vectors go row by row, too, and read x where it lies (`in_place`): positions in the padding are
 * left out by masks, which are the same for all rows and channels.
 *
 *     staged: [channel][plane][row][pitch]        sums: [output channel][row][pitch]         weights: [group][block of channels][in][tap][out] */
#ifndef RY_KERNELS_CPU_CONV_DIRECT_PLAN_H
#define RY_KERNELS_CPU_CONV_DIRECT_PLAN_H

#include "kernels/cpu/conv/conv_geometry.h"
#include "kernels/kernel.h"

typedef enum direct_text { DIRECT_STAGED, DIRECT_BY_ROWS, DIRECT_IN_PLACE, DIRECT_TEXTS } direct_text;

/* text makes the forms; the others cut them. */
enum { DIRECT_TEXT, DIRECT_ROWS, DIRECT_GROUPS, DIRECT_KNOBS };
extern const ry_knob direct_knobs[DIRECT_KNOBS];

enum {
    DIRECT_STRIDE_MOST = 4,
    DIRECT_OUT_MOST = 16,
    DIRECT_BLOCK_MOST = 4,
    DIRECT_COLUMN_MOST = 7,
    DIRECT_WIDTH_MOST = 11,
    DIRECT_VECTORS_MOST = 4,
    DIRECT_PIXELS_LEAST = 16
};

typedef struct direct_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t dilation[2];           /* between taps, rows and columns */
    int64_t before[2];             /* padding above and left */
    int64_t pitch, plane, channel; /* floats of a staged row, plane, channel */
    int64_t rows, row_blocks;      /* output rows of a task */
    int64_t groups_a_task, group_blocks;
    int64_t sum_step; /* floats of one output channel's sums */
    int64_t tasks;
    bool by_rows, direct, in_place;
    int64_t registers;                  /* in_place: vectors of a row whose sums are in registers together, at most */
    bool fetches;                       /* lines of x and y ahead (in_place) */
    double cycles;                      /* in vector multiply-adds, on one core */
    uint32_t planes_used;               /* bit i * stride_w + j */
    size_t staged, sums, runs, scratch; /* bytes */
    size_t taps, size;
    int64_t offset[]; /* of each tap in a staged channel; then the ry_conv_taps at `taps` */
} direct_plan;

/* in_place: how many vectors of `width` of a row are summed together, from vector `first` on. All but the first and the last of them must read inside
 * x with every tap: they have no masks. */
int64_t direct_vectors(const direct_plan *plan, int64_t width, int64_t first);

bool direct_plan_suits(const ry_problem *problem);

/* Is there a plan of that text? */
bool direct_has(const ry_query *query, direct_text text);

/* Bytes of the plan; then the plan that the query's form asks for. */
size_t direct_plan_size(const ry_problem *problem);
void direct_plan_make(const ry_query *query, direct_plan *plan);

void direct_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status direct_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void direct_initialise(const ry_query *query, void *state);

#endif
