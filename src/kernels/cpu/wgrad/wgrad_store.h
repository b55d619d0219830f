/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a weight gradient: sums, a vector of output channels at a time, become dw and db. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_STORE_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_STORE_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"

/* sums[row][channel] of output channels of a group and of rows (input channel, then tap); pitch:
 * floats from row to row, full vectors. */
typedef struct wgrad_piece {
    int64_t group, channel, channels, row, rows, pitch;
} wgrad_piece;

void RY_ISA_SYMBOL(wgrad_store)(const wgrad_shape *shape, const wgrad_piece *piece,
                                const float *sums, float *dw);
void RY_ISA_SYMBOL(wgrad_store_bias)(const wgrad_shape *shape, const wgrad_piece *piece,
                                     const float *sums, float *db);

/* `count` sums (full vectors) of every part, `part_floats` apart, into those of the first: pairs,
 * then pairs of pairs, ...: an order that depends on the number of parts alone. */
void RY_ISA_SYMBOL(wgrad_add_parts)(float *sums, int64_t count, int64_t parts, int64_t part_floats);

#endif
