/* SPDX-License-Identifier: Apache-2.0 */
/* AffineGrid and GridSample, one axis at a time: the coordinates of positions, and the weights of
 * taps (ONNX GridSample-20). docs/operators.md says where implementations differ. */
#ifndef RY_KERNELS_COMMON_GRID_MAP_H
#define RY_KERNELS_COMMON_GRID_MAP_H

#include "base/integer.h"
#include "problem/problem.h"

#include <math.h>

/* Position i of n in [-1, 1]: the centres of pixels, or with aligned corners the first and last at
 * the ends. */
static inline double ry_grid_normal(int64_t i, int64_t n, bool align_corners)
{
    if (align_corners) {
        return n > 1 ? 2 * (double)i / (double)(n - 1) - 1 : 0;
    }
    return (2 * (double)i + 1) / (double)n - 1;
}

/* From [-1, 1] to pixels. Nearest rounds what float arithmetic gives, as every other implementation
 * does: a tie must fall the same way. */
static inline double ry_grid_to_pixels(const ry_grid_sample_attrs *attrs, ry_dtype dtype,
                                       double normal, int64_t size)
{
    if (attrs->mode == RY_grid_mode_nearest && dtype != RY_f64) {
        float n = (float)normal, length = (float)size;
        return attrs->align_corners ? (n + 1) / 2 * (length - 1) : ((n + 1) * length - 1) / 2;
    }
    double length = (double)size;
    return attrs->align_corners ? (normal + 1) / 2 * (length - 1) : ((normal + 1) * length - 1) / 2;
}

/* Mirrors x at low and high until it is between. */
static inline double ry_grid_reflect(double x, double low, double high)
{
    double range = high - low;
    if (range <= 0) {
        return low;
    }
    double distance = fmod(fabs(x - low), 2 * range);
    return low + (distance > range ? 2 * range - distance : distance);
}

/* Where the padding rule puts x; positions inside stay. */
static inline double ry_grid_fold(const ry_grid_sample_attrs *attrs, double x, int64_t size)
{
    double low = attrs->align_corners ? 0 : -0.5,
           high = (double)size - (attrs->align_corners ? 1 : 0.5);
    if (x >= low && x <= high) {
        return x;
    }
    switch (attrs->padding) {
    case RY_grid_padding_border: return fmin(fmax(x, 0), (double)(size - 1));
    case RY_grid_padding_reflection: return ry_grid_reflect(x, low, high);
    default: return x;
    }
}

/* Weights of the taps around a position whose fraction is t: two, or the four of Keys' kernel with
 * a = -0.75. */
static inline void ry_grid_weights_of(ry_grid_mode mode, double t, double *w)
{
    const double a = -0.75;
    double s = 1 - t;
    if (mode == RY_grid_mode_linear) {
        w[0] = s;
        w[1] = t;
        return;
    }
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * s - (a + 3)) * s * s + 1;
    w[3] = ((a * (s + 1) - 5 * a) * (s + 1) + 8 * a) * (s + 1) - 4 * a;
}

/* The taps of an axis: one, two or four. */
static inline int ry_grid_tap_count(ry_grid_mode mode)
{
    return mode == RY_grid_mode_nearest ? 1 : mode == RY_grid_mode_linear ? 2 : 4;
}

#endif
