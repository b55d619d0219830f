/* SPDX-License-Identifier: Apache-2.0 */
/* A convolution, forward or transposed, as sums over taps: what the CPU's convolution kernels read
 * instead of attributes.
 *
 *     y[n][k][q] = sum over c, tap of x[n][c][q * stride + tap.at] * w[k][c][tap.weight]
 *         q: a position of the phase's output grid
 *
 * A forward convolution is one phase. A transposed one of stride s is a phase for each residue of
 * the output's position modulo s (in each dimension): the taps that reach it, with unit stride,
 * written with a step of s; with unit stride it reads as a forward one (ry_conv_reads_forward).
 * Everything is plain data without pointers: it lives in a kernel's state. Spatial dimensions are
 * always three (depth, height, width), missing ones have extent 1. */
#ifndef RY_KERNELS_CPU_PARTS_CONV_GEOMETRY_H
#define RY_KERNELS_CPU_PARTS_CONV_GEOMETRY_H

#include "kernels/kernel.h"

#define RY_SPACE 3

typedef struct ry_conv_tap {
    int64_t at[RY_SPACE];    /* where it reads, relative to q * stride */
    int64_t offset;          /* the same, in elements of x */
    int64_t first[RY_SPACE]; /* the positions q that read inside x are first[i] <= q[i] < end[i] */
    int64_t end[RY_SPACE];
    int64_t weight; /* offset in w, in elements */
} ry_conv_tap;

typedef struct ry_conv_phase {
    int64_t grid[RY_SPACE];
    int64_t pixels;           /* the product */
    int64_t y_offset;         /* offset of q = 0 in y */
    int64_t y_step[RY_SPACE]; /* elements of y for one step of q */
    int64_t r_offset;         /* the same for the residual */
    int64_t r_step[RY_SPACE];
    int64_t bias_offset; /* offset of output channel 0 in the bias */
    int64_t first_tap, taps;
} ry_conv_phase;

typedef struct ry_conv_geometry {
    int64_t batch, groups;
    int64_t channels_in, channels_out; /* channels of one group */
    int64_t in[RY_SPACE], out[RY_SPACE];
    /* window size, without outer taps that read only padding for every output */
    int64_t kernel[RY_SPACE];
    int64_t stride[RY_SPACE]; /* stride in x: 1 in transposed convolutions */
    int64_t x_batch, x_channel, x_step[RY_SPACE];
    int64_t y_batch, y_channel;
    int64_t r_batch, r_channel; /* residual; 0 where there is none */
    /* steps of w in elements: next input channel, next output channel, next group */
    int64_t w_in, w_out, w_group;
    int64_t phases, taps; /* taps of all phases */
    bool phase_bias;      /* each phase adds a bias of its own */
    /* Tap r of an axis, whose weight is stored r * w_step behind w_first. `forward`: it reads as a
     * forward convolution does, output q reads q * stride + r * dilation - before there. Other
     * transposed ones: input q reaches output q * spread + r * dilation - before. */
    bool forward;
    int64_t before[RY_SPACE], dilation[RY_SPACE], output_stride[RY_SPACE], w_step[RY_SPACE],
        w_first;
} ry_conv_geometry;

/* Is it a forward conv or a convt of one to three spatial dimensions, with nothing empty and no
 * more taps than tables are made for? */
bool ry_conv_is_spatial(const ry_problem *problem);

/* Is it a forward convolution, or a transposed one of unit stride, whose taps in reverse order are
 * one? Only of those that are spatial. */
bool ry_conv_reads_forward(const ry_problem *problem);

/* Has each phase of a transposed convolution a bias of its own: one for each output channel and
 * residue of the output's position modulo the strides? */
bool ry_conv_has_phase_bias(const ry_problem *problem);

/* Has it at most two spatial dimensions that matter: is every output's depth the input's only one?
 */
bool ry_conv_is_flat(const ry_conv_geometry *geometry);

/* Is it a convolution, forward or transposed, all of whose tensors are floats (bias: any of them),
 * or all int32 without residual and activation, and which has no more phases than are worth it? */
bool ry_conv_takes_floats(const ry_problem *problem);
bool ry_conv_takes_i32(const ry_problem *problem);

static inline bool ry_conv_has_unit_stride(const ry_conv_geometry *g)
{
    return g->stride[0] == 1 && g->stride[1] == 1 && g->stride[2] == 1;
}

/* Fills `geometry`; `phase` and `tap` have room for the counts that ry_conv_geometry_of states
 * (both may be NULL: counts only, in no time whatever the strides). */
void ry_conv_geometry_of(const ry_problem *problem, ry_conv_geometry *geometry,
                         ry_conv_phase *phase, ry_conv_tap *tap);

/* Phases whose pixels alternate in a row of y, if the row is contiguous; else 1. */
int64_t ry_conv_interleaved_phases(const ry_problem *problem, const ry_conv_geometry *geometry);

/* A tensor's element type as the internal enum, whose values are the public one's. */
static inline ry_dtype ry_type_of(const ry_tensor *tensor)
{
    return (ry_dtype)tensor->dtype;
}

/* The activation of a problem of any kind that has one. */
typedef struct ry_activation_of {
    ry_activation kind;
    float alpha, beta;
} ry_activation_of;

ry_activation_of ry_conv_activation(const ry_problem *problem);

/* Those that are bounds, low <= x <= high, cost nothing in a tile's end: true, and the bounds are
 * set (infinite where there is none). */
bool ry_activation_bounds(ry_activation_of activation, float *low, float *high);

#endif
