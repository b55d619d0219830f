/* SPDX-License-Identifier: Apache-2.0 */
/* How the weight gradient of a depthwise convolution is computed where channels are last: a vector
 * of them at a time, from x and dy where they are stored.
 *
 * Lines of dy, or pieces of long ones, are numbered through all images. A part has some of them, a
 * task of it some vectors of channels: block by block, of as many lines of an image as stay in the
 * second-level cache with what they meet of x, it adds up the products of every tap, a piece of the
 * window at a time (wgrad_taps.h). Lines whose windows reach over the image are run with the taps
 * that do not.
 *
 * Parts are as many as the plan says, whatever the number of threads is. Each has its sums in the
 * workspace; where there are several, a second phase adds them in pairs of pairs.
 *
 *     sums of a part:  [vector of channels][tap, then bias][lane]  */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_DEPTHWISE_PLAN_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_DEPTHWISE_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"
#include "kernels/form_method.h"

enum { WGRAD_DEPTHWISE_PARTS, WGRAD_DEPTHWISE_LINES, WGRAD_DEPTHWISE_KNOBS };
extern const ry_knob ry_wgrad_depthwise_knobs[WGRAD_DEPTHWISE_KNOBS];

/* The largest piece of a window, along each axis. */
enum { WGRAD_PIECE_ROWS = 5, WGRAD_PIECE_COLUMNS = 7 };

typedef struct wgrad_depthwise_plan {
    wgrad_shape shape;
    int64_t width, vectors; /* floats of a vector; vectors of channels */
    ry_cost_column costs;
    int64_t rows, columns; /* rows and columns of the largest piece of the window */
    bool fetches;          /* a task's lines are one piece of memory: it fetches ahead */
    bool far;              /* x and dy come from memory */
    int64_t cuts, lines;   /* pieces of a line; lines in all images, or pieces */
    int64_t block, parts;  /* the most lines of a block */
    ry_task_cut tasks[2];  /* parts, vectors; vectors */
    int64_t vector_floats, part_floats; /* floats of sums */
} wgrad_depthwise_plan;

/* Lines of an image, and of each the same positions. */
typedef struct wgrad_lines {
    int64_t image, line, lines;
    ry_window_range positions;
} wgrad_lines;

/* The block that begins at line `index` (or piece) of all and ends before line `end`. */
wgrad_lines ry_wgrad_lines_of(const wgrad_depthwise_plan *plan, int64_t index, int64_t end);

bool ry_wgrad_depthwise_takes(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_wgrad_depthwise);

#endif
