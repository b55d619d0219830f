/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a weight gradient in Winograd's form (wgrad_winograd_plan.h). */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_WINOGRAD_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_WINOGRAD_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/wgrad/wgrad_winograd_plan.h"

/* A tile of an image whose channels are next to each other: element (i, j) of those with begin <= i
 * < end of each axis is at[i * line + j * step]; the others are 0. */
typedef struct wgrad_square {
    const float *at;
    int64_t line, step;
    ry_window_range rows, columns;
} wgrad_square;

/* V of one tile: v[p * point] of full vectors; channels behind the last are 0. `squares`: of the
 * channels (WGRAD_SQUARES). */
void RY_ISA_SYMBOL(wgrad_winograd_input)(const wgrad_square *x, int64_t channels, float *v,
                                         int64_t point, float *squares);
/* U of one tile, in the same way; its elements are added to `bias`, unless that is NULL. */
void RY_ISA_SYMBOL(wgrad_winograd_gradient)(const wgrad_square *dy, int64_t channels, float *u,
                                            int64_t point, float *squares, float *bias);
/* Puts NaN in the place of the sums [c][tap][pitch] of the input channels [channel, channel +
 * channels) by `columns` (full vectors), where a channel is uneven. */
void RY_ISA_SYMBOL(wgrad_winograd_poison)(const wgrad_squares *x, int64_t channel, int64_t channels,
                                          const wgrad_squares *dy, int64_t columns, float *sums,
                                          int64_t pitch);
/* sums[c][tap][pitch] of `channels` by `columns` (full vectors), written or added to, from M. */
void RY_ISA_SYMBOL(wgrad_winograd_output)(const float *m, int64_t point, int64_t channels,
                                          int64_t columns, bool first, float *sums, int64_t pitch);

/* Sums [c][tap][pitch] of `channels` input channels and `columns` output channels that are not
 * finite, again: x and dy are of their first channels. */
void RY_ISA_SYMBOL(wgrad_winograd_repair)(const wgrad_shape *shape, const float *x, const float *dy,
                                          int64_t channels, int64_t columns, float *sums,
                                          int64_t pitch);

#endif
