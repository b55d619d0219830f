/* SPDX-License-Identifier: Apache-2.0 */
/* How a separable convolution (depthwise, then pointwise) with channels side by side in memory is cut: what lies between the two never leaves the caches.
 *
 * A task takes a strip of output rows. It computes all channels of the depthwise result into a block of its scratch, [pixel][channel], which is the
 * pixels' operand of the matrix product with the pointwise weights. Plain data, kept in a kernel's state.
 *
 *     packed: depthwise weights [tap][channels, whole vectors] | their bias | pointwise weights [unit][channel][columns of the unit] | their bias */
#ifndef RY_KERNELS_CPU_SEPARABLE_SEPARABLE_PLAN_H
#define RY_KERNELS_CPU_SEPARABLE_SEPARABLE_PLAN_H

#include "kernels/cpu/conv/conv_geometry.h"

enum { SEPARABLE_WINDOW_MOST = 7, SEPARABLE_STRIDE_MOST = 2, SEPARABLE_PIXELS = 4 };

typedef struct separable_plan {
    int64_t batch, channels, outputs;
    int64_t in[2], out[2], window[2], stride[2], before[2];
    int64_t x_batch, x_row, x_pixel, y_batch, y_pixel, r_batch, r_pixel; /* y's and the residual's rows follow each other without a gap */
    int64_t width, whole;                                                /* of a vector; channels as whole vectors */
    int64_t tile_rows, tile_columns, units;
    int64_t rows, strips;                     /* output rows of a task; tasks of an image */
    int64_t m_step;                           /* floats from pixel to pixel of the block */
    int64_t dw_bias, pointwise, bias, packed; /* floats from the packed weights' start; their count */
    double cycles;                            /* in vector multiply-adds, on one core */
    size_t block, zeros, nobody, scratch;     /* of a worker, in bytes from its start */
} separable_plan;

/* Is it one that a plan can be made for: float, two spatial dims at most, windows up to 7x7, unit dilation, stride up to 2, channels last? */
bool separable_suits(const ry_problem *problem);
void separable_plan_make(const ry_problem *problem, int width, int tile_rows, int tile_vectors, separable_plan *plan);

/* Output channels of a unit, and how many the tile computes. */
static inline int64_t separable_unit_count(const separable_plan *plan, int64_t unit)
{
    const int64_t left = plan->outputs - unit * plan->tile_columns;
    return left < plan->tile_columns ? left : plan->tile_columns;
}

static inline int64_t separable_unit_width(const separable_plan *plan, int64_t unit)
{
    return (separable_unit_count(plan, unit) + plan->width - 1) / plan->width * plan->width;
}

#endif
