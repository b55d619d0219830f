/* SPDX-License-Identifier: Apache-2.0 */
/* How a depthwise convolution, forward or transposed, whose vectors are along channels ("nhwc") is
 * cut.
 *
 * A task computes some lines (rows of the output) of a part of the channels, as many channels at
 * once as have what a block needs in the first-level cache, in blocks of one or two lines by a few
 * neighbouring pixels of a class of columns (depthwise_axis.h). What a block reads is a table of
 * addresses, made once for all its channels: pixels outside x are zeros, and rows and slices of the
 * window that are outside are left out where they can be. From block to block the addresses move by
 * the same step, and from line to line where all rows of the window are inside. A dilated window's
 * lines take turns: two lines of a block share rows of x where they are a dilation apart.
 *
 * Where the channels of x are not side by side, or are not f32, a task first stages the rows that a
 * line reads in a ring (`staged`): planes are transposed. With a third dimension the ring has whole
 * slices. Sums to which a residual is added, or whose channels are not side by side in y as f32, go
 * to y by way of scratch (`through`); planes of it are transposed back (`planes_out`). Others are
 * in y at once; an activation that is no bound passes over each line (`activated`).
 *
 * A grouped convolution is a sum of `depth` depthwise ones whose x is permuted: lane l of a vector
 * that begins at output channel `turn` of a group reads channel (turn + l) / multiplier * depth of
 * those from that group on (`mix`: from one vector, or from two). A vector may end with a group
 * before it is full (`lanes` of it), so that one vector of x has all that it reads.
 *
 *     weights: [depth][class of slices][of lines][of columns][tap][packed_step], then the bias;
 *         classes that have the same taps are one
 *     scratch: zeros | row nobody reads | sums [line][pixel][sum_step] | ring
 *         [slice][row][pixel][inputs] | table [slice][row][reach]
 *              | for each vector where it reads | lanes [turn][lane] */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_PLAN_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_NHWC_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/depthwise/depthwise_axis.h"
#include "kernels/kernel.h"

/* window and height make the forms; the others cut them. */
enum {
    NHWC_WINDOW,
    NHWC_HEIGHT,
    NHWC_BLOCK_PIXELS,
    NHWC_TASK_ROWS,
    NHWC_PART,
    NHWC_CHANNELS,
    NHWC_KNOBS
};
extern const ry_knob ry_depthwise_nhwc_knobs[NHWC_KNOBS];

enum {
    NHWC_ROWS = 2,
    NHWC_PIXELS = 7,
    NHWC_FEWEST = 4,
    NHWC_DEPTH = 16,
    NHWC_WINDOWS = 5,
    MAX_NHWC_WINDOW = 2 * NHWC_WINDOWS + 1
};

/* What a vector of outputs of a grouped convolution reads. */
typedef struct depthwise_reading {
    int64_t at; /* the first of its groups' channels */
    /* which of the channels from there on each lane reads, for the group's channel 0 */
    const int32_t *lane;
    int64_t last; /* the last of them that a lane of y reads */
} depthwise_reading;

typedef struct depthwise_nhwc_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t depth;      /* input channels of a group */
    int64_t multiplier; /* output channels of a group */
    int64_t outputs;    /* channels of y */
    int64_t lanes;      /* channels of y in a vector */
    ry_cost_column costs;
    int64_t packed_step; /* floats of all vectors */
    int64_t packed;      /* floats of all weights and the bias */
    depthwise_axis axis[RY_SPACE];
    int64_t taps;           /* taps of all classes */
    int64_t lines;          /* lines of an image */
    int64_t rows, part;     /* lines and channels of a task, full vectors' lanes */
    ry_task_cut cut;        /* images, lines, channels */
    int64_t channels;       /* channels of a part computed together, row by row */
    int64_t inputs;         /* channels of x that they read, at most, full vectors */
    int64_t height, pixels; /* lines and pixels of a block */
    /* interleaved lines of a dilated window: a block's lines are as many apart; 1: neighbours */
    int64_t line_interleave;
    /* taps of a row that has a variant of its own: 3, 5, ... MAX_NHWC_WINDOW; 0: any */
    int64_t window;
    int64_t stride;               /* stride of that variant: column moves in steps of the table */
    int64_t unit;                 /* table: in x from an entry to the next */
    int64_t pixel_step, tap_step; /* from a pixel of a block, from a tap of a row to the next */
    int64_t field;                /* entries of a row */
    int64_t table_rows;           /* rows of a slice at most */
    int64_t slices, ring, plane;  /* ring: slices, rows of a slice, floats of a slice */
    int64_t sum_step, hold;       /* sums: floats between pixels, lines */
    int sources;
    double cycles; /* cycles of all tasks */
    bool staged, planes_in, through, planes_out, activated;
    bool fetches;             /* lines of x and y ahead */
    bool slides;              /* lines that read all rows of the window share a table */
    bool dense_in, dense_out; /* rows of planes without gaps, one behind the other */
    /* bytes from scratch's start; at: the lanes */
    size_t dump, sums, ring_at, table, vectors, at, scratch;
} depthwise_nhwc_plan;

/* For vectors of that many floats. */
bool ry_depthwise_nhwc_suits(const ry_problem *problem, int width);
bool ry_depthwise_nhwc_takes_4(const ry_problem *problem);
bool ry_depthwise_nhwc_takes_8(const ry_problem *problem);
bool ry_depthwise_nhwc_takes_16(const ry_problem *problem);

/* Taps of a window row, if a variant is compiled for the window; else 0. */
int64_t ry_depthwise_nhwc_window(const ry_query *query);

/* Cycles of a vector of a tap, whose x is one vector or mixed from some. */
double ry_depthwise_nhwc_tap_cycles(const depthwise_nhwc_plan *plan, int sources);
/* Cycles of all sums: of taps, of a pixel's start and end, of planes and conversions behind. */
double ry_depthwise_nhwc_sum_cycles(const depthwise_nhwc_plan *plan);
/* Cycles of all tasks: also of staging and of addresses. */
double ry_depthwise_nhwc_cycles(const ry_query *query, const depthwise_nhwc_plan *plan);

/* Makes the plan of the query's form; false if the form is not legal. */
bool ry_depthwise_nhwc_plan_make(const ry_query *query, depthwise_nhwc_plan *plan);
/* Lines and channels of a task that keep all cores busy, once window and height are set; channels
 * once the lines are. */
int64_t ry_depthwise_nhwc_task_rows(const ry_query *query, const depthwise_nhwc_plan *plan);
int64_t ry_depthwise_nhwc_part(const ry_query *query, const depthwise_nhwc_plan *plan);

void ry_depthwise_nhwc_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_depthwise_nhwc_prepare(const ry_query *query, ry_prepared *prepared,
                                      ry_error *error);
void ry_depthwise_nhwc_initialise(const ry_query *query, void *state);

/* `packing` of convolutions; then that of a plan, for the kernels built on it. */
void ry_depthwise_nhwc_packing(const ry_prepared *prepared, ry_text *key);
void ry_depthwise_nhwc_packing_of(const depthwise_nhwc_plan *plan, ry_text *key);

#endif
