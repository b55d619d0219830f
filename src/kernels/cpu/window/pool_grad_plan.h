/* SPDX-License-Identifier: Apache-2.0 */
/* How the gradient of max and average pooling is computed: what its kernels of every instruction
 * set share.
 *
 *   max       by output positions in their order: the window's first maximum is found again in x,
 *             and gets the gradient. A task has whole planes (NCHW), or an image of some channels
 *             (NHWC), so that windows that overlap are one task's. NCHW copies the rows that a
 *             window meets so that the same tap of neighbouring outputs is a vector
 *   average   by input rows: each is a sum of the output rows that it is part of */
#ifndef RY_KERNELS_CPU_WINDOW_POOL_GRAD_PLAN_H
#define RY_KERNELS_CPU_WINDOW_POOL_GRAD_PLAN_H

#include "base/integer.h"
#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"
#include "problem/window.h"

/* Channels of a block of NHWC. */
enum { POOL_GRAD_BLOCK = 64 };

typedef struct pool_grad_plan {
    bool maximum, include_pad;
    bool last; /* NHWC */
    ry_window window;
    int64_t channels;
    int64_t in_rows, out_rows; /* rows of an image: all spatial dims but the last */
    int64_t in_size, out_size; /* positions of an image */
    bool whole;                /* an average over the whole image */
    int64_t width, groups;     /* max in NHWC: channels of a unit, units of an image */
    int64_t vector, pitch;     /* floats: of a vector, of a copied row's remainder */
    int64_t row_taps;          /* most input rows of an output row, or the reverse */
    ry_cut_axis units;         /* planes, images and groups, or images and input rows */
} pool_grad_plan;

/* A row that takes part in another: where it begins, in positions of its image, and the share of
 * an average that the axes across rows give it. */
typedef struct pool_grad_row {
    int64_t at;
    double share;
} pool_grad_row;

static inline const ry_window_axis *pool_grad_along(const pool_grad_plan *plan)
{
    return &plan->window.axis[plan->window.rank - 1];
}

/* Outputs of a row in whole vectors. */
static inline int64_t pool_grad_wide(const pool_grad_plan *plan)
{
    return ry_ceil_div(pool_grad_along(plan)->out, plan->vector) * plan->vector;
}

/* Bytes of scratch for rows, before everything else there. */
static inline size_t pool_grad_rows_size(const pool_grad_plan *plan)
{
    return ((size_t)plan->row_taps * sizeof(pool_grad_row) + 63) / 64 * 64;
}

/* Input rows of output row `row`, in row-major order; output rows of input row `row`. Both return
 * how many, plan->row_taps at most. */
int64_t ry_pool_grad_taps(const pool_grad_plan *plan, int64_t row, pool_grad_row *rows);
int64_t ry_pool_grad_readers(const pool_grad_plan *plan, int64_t row, pool_grad_row *rows);
/* How many positions along an axis an average at output `o` divides by. */
int64_t ry_pool_grad_counted(const pool_grad_plan *plan, const ry_window_axis *axis, int64_t o);

bool ry_pool_grad_applicable(const ry_problem *problem);
rynd_status ry_pool_grad_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a pool_grad_plan */
void ry_pool_grad_initialise(const ry_query *query, void *state);

#endif
