/* SPDX-License-Identifier: Apache-2.0 */
/* How a separable convolution (depthwise, then pointwise) with channels side by side in memory is
 * cut: what is between the two never leaves the caches.
 *
 * A task takes neighbouring strips of output rows, one after the other. It computes all channels of
 * a strip's depthwise result, as depthwise_nhwc_plan.h says, into a block of its scratch,
 * [pixel][channel], which is the pixels' operand of the matrix product with the pointwise weights.
 * Plain data, kept in a kernel's state.
 *
 *     packed: depthwise weights and their bias | pointwise weights [oc block][channel][columns of
 *         the oc block] | their bias */
#ifndef RY_KERNELS_CPU_SEPARABLE_SEPARABLE_PLAN_H
#define RY_KERNELS_CPU_SEPARABLE_SEPARABLE_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/depthwise/depthwise_nhwc_plan.h"

typedef struct separable_plan {
    depthwise_nhwc_plan depthwise; /* plan of the problem of separable_depthwise */
    int64_t batch, channels, outputs, rows_out, columns_out;
    /* y's and the residual's rows follow each other without a gap */
    int64_t y_batch, y_pixel, r_batch, r_pixel;
    int64_t width; /* lanes of a vector */
    ry_cost_column costs;
    int64_t tile_rows, tile_columns, oc_blocks;
    int64_t rows, task_rows;         /* output rows of a strip, of a task */
    ry_task_cut tasks;               /* images, rows */
    int64_t m_step;                  /* floats from pixel to pixel of the block */
    int64_t pointwise, bias, packed; /* floats from the packed weights' start; their count */
    double cycles;                   /* in vector multiply-adds, on one core */
    /* byte offsets in a worker's scratch, behind the depthwise convolution's part */
    size_t block, scratch;
} separable_plan;

/* The depthwise half as a problem of its own, whose y is a block of scratch. It points into itself
 * and into the whole problem. */
typedef struct separable_depthwise {
    ry_problem problem;
    ry_tensor in[3], out[1];
} separable_depthwise;

/* `pixel`: floats from pixel to pixel of the block. */
void ry_separable_depthwise_of(const ry_problem *problem, int64_t pixel,
                               separable_depthwise *depthwise);

/* Is it one that a plan can be made for: float, two spatial dims at most, channels last? For
 * vectors of that many floats. */
bool ry_separable_takes_4(const ry_problem *problem);
bool ry_separable_takes_8(const ry_problem *problem);
bool ry_separable_takes_16(const ry_problem *problem);

enum { SEPARABLE_ROWS, SEPARABLE_TASK_ROWS, SEPARABLE_KNOBS };
extern const ry_knob ry_separable_knobs[SEPARABLE_KNOBS];

void ry_separable_initialise(const ry_query *query, void *state);
void ry_separable_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_separable_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_separable_packing(const ry_prepared *prepared, ry_text *key);

/* Output channels of an oc block, and how many the tile computes. */
static inline int64_t separable_oc_block_count(const separable_plan *plan, int64_t oc_block)
{
    const int64_t left = plan->outputs - oc_block * plan->tile_columns;
    return left < plan->tile_columns ? left : plan->tile_columns;
}

static inline int64_t separable_oc_block_width(const separable_plan *plan, int64_t oc_block)
{
    return (separable_oc_block_count(plan, oc_block) + plan->width - 1) / plan->width * plan->width;
}

#endif
