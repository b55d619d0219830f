/* SPDX-License-Identifier: Apache-2.0 */
/* An axis of a depthwise convolution as interleaved classes of outputs: output o belongs to class o
 * % classes and is number q = o / classes there.
 *
 *     it reads x at   class.at + q * move + j * apart   with tap   class.tap + j * class.tap_step,
 *                     0 <= j < class.taps
 *
 * A forward convolution is one class, or as many as make its taps neighbours in x of a class's own
 * (ry_depthwise_axis_part): a dilated convolution is interleaved ones without dilation. A
 * transposed one has a class for each residue of the output modulo its stride, with the taps that
 * reach those outputs. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_AXIS_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_AXIS_H

#include "kernels/cpu/parts/conv_geometry.h"
#include "problem/window.h"

enum { DEPTHWISE_CLASSES = 16 };

typedef struct depthwise_class {
    int64_t taps, at, tap, tap_step;
    int64_t packed; /* taps of the classes before it, unless all have the same ones */
} depthwise_class;

typedef struct depthwise_axis {
    int64_t in, out;
    int64_t classes, move, apart;
    int64_t taps;      /* taps of all classes; of each class if all have the same */
    int64_t low, high; /* the first and the last place that output 0 of any class reads */
    bool same;         /* all classes have the same taps */
    depthwise_class class[DEPTHWISE_CLASSES];
} depthwise_axis;

/* Axis i; false: it has too many classes. */
bool ry_depthwise_axis_make(const ry_conv_geometry *geometry, int i, depthwise_axis *axis);

/* Cuts a forward axis into classes whose moves are multiples of what is between taps. False: there
 * would be too many, and it is left as it was. */
bool ry_depthwise_axis_part(depthwise_axis *axis);

/* Outputs of a class. */
static inline int64_t depthwise_axis_outputs(const depthwise_axis *axis, int64_t class)
{
    return class < axis->out ? (axis->out - class - 1) / axis->classes + 1 : 0;
}

/* The taps of output o that read inside x: from `first` on, and where it reads with tap 0. */
typedef struct depthwise_inside {
    const depthwise_class *class;
    int64_t at, first, count;
} depthwise_inside;

depthwise_inside ry_depthwise_axis_inside(const depthwise_axis *axis, int64_t output);

/* Taps that read inside x, on average over the outputs. */
double ry_depthwise_axis_mean(const depthwise_axis *axis);

#endif
