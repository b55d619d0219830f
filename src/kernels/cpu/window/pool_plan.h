/* SPDX-License-Identifier: Apache-2.0 */
/* How pooling is computed: the tables that its texts read. Plain data, kept in a kernel's state.
 *
 *   WHOLE     the window is the whole image: one sum (or maximum) over each plane
 *   ROWS      NCHW, an output row at a time: the window's input rows are reduced into one row,
 *             padded left and right with what does not count, and the output reduces that row's
 *             neighbours
 *   CHANNELS  NHWC, an output position at a time, vectors along channels; where the window is large
 *             (`separable`), of a row that its input rows were reduced into before
 *   PLANES    NCHW of small planes: some are transposed, so that they are the channels of an image,
 *             which is pooled as CHANNELS, and transposed back */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_PLAN_H
#define RY_KERNELS_CPU_WINDOW_POOL_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "problem/window.h"

typedef enum pool_path { POOL_FULL, POOL_ROWS, POOL_CHANNELS, POOL_PLANES } pool_path;

/* An output row (all spatial dims but the last): input rows offset[begin ..] in elements of x, and
 * how many positions an average counts. */
typedef struct pool_row {
    int64_t begin, count, divisor;
} pool_row;

/* An output position of the last dim: its taps inside the input. */
typedef struct pool_column {
    int64_t first, count; /* first: the input position of the first */
} pool_column;

/* This, then pool_row, pool_column, offsets, and how many columns an average counts (a float for
 * each output position). */
typedef struct pool_plan {
    pool_path path;
    bool maximum, include_pad;
    bool separable;
    bool byte_rows; /* pool_lanes: maxima of bytes, channels last, by rows */
    bool empty;     /* some window meets padding alone */
    ry_window window;
    /* images times channels; channels, or (PLANES) planes that are transposed together */
    int64_t planes, channels;
    int64_t in_size;   /* elements of a plane of the input */
    int64_t rows;      /* output rows of a plane */
    ry_cut_axis units; /* planes, rows, NHWC rows, or blocks of planes */
    int64_t width;     /* floats of the reduced row: ROWS with its padding, others without */
    int64_t offsets;   /* how many */
} pool_plan;

/* pool_f32 takes f32, f16 and bf16 without indices; pool_lanes every other number, and indices
 * (POOL_ROWS and POOL_CHANNELS). */
bool ry_pool_applicable(const ry_problem *problem);
bool ry_pool_lanes_applicable(const ry_problem *problem);
rynd_status ry_pool_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* scratch: a row of 8-byte values, an output row of them, and of int32_t; or a row of bytes */
rynd_status ry_pool_lanes_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* What an index grows by along each spatial dim: row-major, or column-major by storage_order. */
void ry_pool_index_strides(const ry_problem *problem, const ry_window *window, int64_t *strides);
/* state: a pool_plan, then its tables */
void ry_pool_initialise(const ry_query *query, void *state);

/* The axis along rows: the last. */
static inline const ry_window_axis *pool_along(const ry_window *window)
{
    return &window->axis[window->rank - 1];
}

static inline const pool_row *pool_rows(const pool_plan *plan)
{
    return (const pool_row *)(const void *)(plan + 1);
}

static inline const pool_column *pool_columns(const pool_plan *plan)
{
    return (const pool_column *)(const void *)(pool_rows(plan) + plan->rows);
}

static inline const int64_t *pool_offsets(const pool_plan *plan)
{
    return (const int64_t *)(const void *)(pool_columns(plan) + pool_along(&plan->window)->out);
}

static inline const float *pool_divisors(const pool_plan *plan)
{
    return (const float *)(const void *)(pool_offsets(plan) + plan->offsets);
}

/* PLANES: floats of a block of x, and of y, in scratch, of which squares of vectors are written. */
static inline int64_t pool_block_in(const pool_plan *plan, int64_t width)
{
    return ry_round_up(plan->in_size, width) * plan->channels;
}

static inline int64_t pool_block_out(const pool_plan *plan, int64_t width)
{
    return ry_round_up(plan->rows * pool_along(&plan->window)->out, width) * plan->channels;
}

/* Is one position's window all of the input, without padding and dilation? */
bool ry_pool_covers_all(const ry_window *window);

#endif
