/* SPDX-License-Identifier: Apache-2.0 */
/* A strip: some output rows of one plane at once, and what its variants share. */
#ifndef RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_STRIP_H
#define RY_KERNELS_CPU_DEPTHWISE_DEPTHWISE_STRIP_H

#include "kernels/cpu/depthwise/depthwise_plane.h"
#include "kernels/cpu/simd/simd_rows.h"

typedef struct strip {
    const depthwise_nchw_plan *plan;
    const float *x;         /* what tap (0, 0) of output column 0 of the strip's first row reads */
    int64_t pitch;          /* from one input row of the strip to the next */
    ry_window_range inside; /* input rows that are inside x */
    /* vectors of a row in this strip; the row's last vector may belong to the next strip */
    int64_t vectors;
    const float *weight;
    float bias;
    ry_vf low, high;
    float *to;
    int64_t to_row;
    const float *residual; /* NULL: none */
    int64_t residual_row;
} strip;

/* Adds what input row j gives to each output row: tap row j - i * stride. */
RY_INLINE void add_row(ry_vf *sum, const ry_vf *w, ry_vf x, const int j, const int height,
                       const int taps, const int stride, const int apart)
{
#pragma GCC unroll 8
    for (int i = 0; i < height; i++) {
        if (j - i * stride >= 0 && j - i * stride < taps) {
            sum[i * apart] = ry_vf_fma(w[j - i * stride], x, sum[i * apart]);
        }
    }
}

RY_INLINE void load_weights(ry_vf *w, const float *weight, const int taps)
{
#pragma GCC unroll 8
    for (int r = 0; r < taps; r++) {
        w[r] = ry_vf_set(weight[r]);
    }
}

/* The last vectors of the rows of two strips of STRIP_ROWS rows, `s` above the other, which fill at
 * most half of the lanes: those of `s` in one half, the lower one's in the other. `inside` has bits
 * for the rows of both. */
void RY_ISA_SYMBOL(depthwise_nchw_two_strips)(const strip *s);

/* As many strips of STRIP_ROWS rows, one below the other, of a plan that has `windows`. */
void RY_ISA_SYMBOL(depthwise_nchw_windows)(const depthwise_nchw_plan *plan,
                                           const depthwise_plane *plane, int64_t strips);

#endif
