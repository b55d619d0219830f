/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution's weight gradient with its strides, as the plans of its kernels read it:
 *
 *     dw[k][c][tap] = sum over images n and positions o of dy[n][k][o] * x[n][c][o * stride + tap]
 *     db[k]         = sum over images n and positions o of dy[n][k][o]
 *
 * Windows have three spatial dims, d h w; what a problem lacks is of size 1. Strides are in
 * elements, whatever the layouts are. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_SHAPE_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_SHAPE_H

#include "kernels/kernel.h"
#include "problem/window.h"

enum { WGRAD_SPACE = 3 };

/* How an image tensor is stored. */
typedef struct wgrad_operand {
    int64_t image, channel, step[WGRAD_SPACE];
} wgrad_operand;

typedef struct wgrad_shape {
    int64_t images, groups, c, k; /* c and k of a group */
    int64_t taps, positions;      /* taps of a window; positions of an image */
    ry_window_axis axis[WGRAD_SPACE];
    wgrad_operand x, dy;
    int64_t dw_k, dw_c, dw_step[WGRAD_SPACE], db_step;
    bool bias;
    bool dense; /* the weights of an output channel are stored one after another */
    bool plain; /* one tap, which meets in every position the element of the same place */
} wgrad_shape;

/* Is the problem the weight gradient of float32 tensors, with at most three spatial dims and
 * windows of a size for which tables of taps are made? */
bool ry_wgrad_takes(const ry_problem *problem);
void ry_wgrad_shape_of(const ry_problem *problem, wgrad_shape *shape);

/* Offset of tap 0 .. taps - 1 in dw, beside the channels'; its place along each axis. */
int64_t ry_wgrad_tap_offset(const wgrad_shape *shape, int64_t tap);
static inline void wgrad_tap_at(const wgrad_shape *shape, int64_t tap, int64_t at[WGRAD_SPACE])
{
    at[2] = tap % shape->axis[2].taps;
    at[1] = tap / shape->axis[2].taps % shape->axis[1].taps;
    at[0] = tap / shape->axis[2].taps / shape->axis[1].taps;
}

/* Positions of the axis whose tap meets an element of x, not padding. */
static inline ry_window_range wgrad_valid_range(const ry_window_axis *axis, int64_t tap)
{
    return ry_window_inside(axis->in, ry_window_at(axis, 0, tap), axis->stride, axis->out);
}

/* The share of products with elements of x, not with padding: 0 .. 1. */
double ry_wgrad_share_inside(const wgrad_shape *shape);

#endif
