/* SPDX-License-Identifier: Apache-2.0 */
/* Resize, one axis at a time: which input positions an output position is made of, and with which
 * weights (ONNX Resize-19). docs/operators.md says where implementations differ.
 *
 * A resize is separable: y[o0, o1, ..] = sum over taps of weight0 * weight1 * .. * x[..]. Taps that
 * are outside the input are folded into the edge (or dropped and the rest renormalised:
 * exclude_outside), so that what is returned is always a contiguous run inside the input:
 *
 *   ry_resize_axis axis;
 *   ry_resize_axis_make(problem, dim, &axis);
 *   double weights[ry_resize_max_taps(&axis)];
 *   count = ry_resize_taps(&axis, o, &first, weights);
 *   y[o] = sum of weights[j] * x[first + j], 0 <= j < count
 *
 * count is 0 where the position is outside the region of tf_crop_and_resize: the output is the
 * extrapolation value. Nearest is a single tap of weight 1, and so is every position of an axis
 * that keeps its size. */
#ifndef RY_KERNELS_COMMON_RESIZE_MAP_H
#define RY_KERNELS_COMMON_RESIZE_MAP_H

#include "problem/problem.h"

typedef struct ry_resize_axis {
    int64_t in, out;
    double scale;      /* output pixels per input pixel */
    double start, end; /* region of interest, of tf_crop_and_resize */
    bool quotient;     /* the scale is out / in: positions come from the sizes, exactly */
    bool rounded;      /* positions are computed in float32, operation by operation */
    ry_resize_mode mode;
    ry_resize_coordinates coordinates;
    ry_resize_nearest nearest;
    double cubic_a;
    bool exclude_outside, antialias;
} ry_resize_axis;

/* Describes an axis of a resize; of a resize_grad: of its forward resize. */
void ry_resize_axis_make(const ry_problem *problem, int dim, ry_resize_axis *axis);
bool ry_resize_axis_is_identity(const ry_resize_axis *axis);
/* Position in the input, pixel centres at integers. */
double ry_resize_coordinate(const ry_resize_axis *axis, int64_t out);
/* Is an output outside of the region that tf_crop_and_resize samples? */
bool ry_resize_is_outside(const ry_resize_axis *axis, int64_t out);
/* The outputs that are not outside: [*begin, *end). */
void ry_resize_inside(const ry_resize_axis *axis, int64_t *begin, int64_t *end);
int64_t ry_resize_max_taps(const ry_resize_axis *axis); /* at least 1 */
int64_t ry_resize_taps(const ry_resize_axis *axis, int64_t out, int64_t *first, double *weights);

/* The transposed map, which a gradient takes: input position i is part of `count` outputs from
 * `first` on, of output first + j with weights[weight + j]. */
typedef struct ry_resize_readers {
    int64_t first, count, weight;
} ry_resize_readers;

/* Describes all `axis->in` positions and returns how many weights they have together; `row` has
 * room for ry_resize_max_taps. ry_resize_transpose then writes the weights. */
int64_t ry_resize_find_readers(const ry_resize_axis *axis, ry_resize_readers *readers, double *row);
void ry_resize_transpose(const ry_resize_axis *axis, const ry_resize_readers *readers, double *row,
                         double *weights);

#endif
