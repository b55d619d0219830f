/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions, forward, transposed and quantised, as the texts of GPUs are told of them.
 *
 * Always three axes (depth, height, width), missing ones of extent 1. Along each, the outputs are
 * cut by their position modulo `spread` (1 where a convolution is forward, else its stride), the
 * residue: o = q * spread + residue, and q reads x at q * stride + first[residue] + j * step by tap
 * tap[residue] + j * tap_step, for 0 <= j < count[residue]. A combination of residues is a phase.
 */
#ifndef RY_KERNELS_GPU_GPU_WINDOW_H
#define RY_KERNELS_GPU_GPU_WINDOW_H

#include "kernels/kernel.h"

enum { RY_GPU_AXES = 3, RY_GPU_RESIDUES = 32 };

typedef struct ry_gpu_axis {
    int64_t in, out, taps;
    int64_t residues, spread, stride, step, tap_step;
    int64_t first[RY_GPU_RESIDUES], tap[RY_GPU_RESIDUES], count[RY_GPU_RESIDUES];
    bool masked; /* are there positions that read outside x? */
    int64_t x_step, w_step;
} ry_gpu_axis;

typedef struct ry_gpu_window {
    ry_gpu_axis axis[RY_GPU_AXES];
    int64_t lanes; /* input channels that an element of a sum's terms holds */
    int64_t images, groups, channels, rows; /* per group: elements of input, output channels */
    int64_t x_group;                        /* elements of x between two groups */
    int64_t window;                         /* all taps */
    int64_t phases;
    int64_t terms, columns; /* in the largest phase: terms of a sum, sums of a channel */
    bool x_along_channels, y_along_channels; /* what is beside each other in memory */
    bool wide;                               /* some tensor needs offsets of 64 bits */
} ry_gpu_window;

/* Is it a convolution of one to three spatial dims with nothing empty, of types that the texts
 * read, whose counts are those of an int? */
bool ry_gpu_window_takes(const ry_problem *problem);

ry_gpu_window ry_gpu_window_of(const ry_problem *problem);

/* The same with elements of so many channels, the last of a group perhaps of fewer. */
ry_gpu_window ry_gpu_window_of_lanes(const ry_problem *problem, int64_t lanes);

/* Defines the window, the tensors' steps and, for floats, FINISH_SUM, which adds bias and residual,
 * activates and stores, and their offsets: Y_AT, BIAS_AT and RESIDUAL_AT. */
void ry_gpu_window_define(const ry_problem *problem, const ry_gpu_window *window, ry_text *text);

/* The offset of an element of y's shape: "(INDEX)(image) * 5 + ..." of image, channel, o0, o1, o2. */
void ry_gpu_window_add_offset(const ry_tensor *tensor, ry_text *text);

#endif
