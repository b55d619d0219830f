/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of convolutions to few channels: sums of a few output channels at vectors of positions, all in registers. */
#ifndef RY_KERNELS_CPU_NARROW_NARROW_TILE_H
#define RY_KERNELS_CPU_NARROW_NARROW_TILE_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/narrow/narrow_plan.h"

/* Output channels of a tile, and its vectors at most where it has so many: as the registers allow. */
enum { NARROW_ROWS = NARROW_ROWS_OF(RY_TILE_ROWS), NARROW_VECTORS = 4 };
#if RY_TILE_ROWS == 14
#define NARROW_VECTORS_OF(rows) ((rows) <= 6 ? 4 : 3)
#else
#define NARROW_VECTORS_OF(rows) ((rows) <= 2 ? 4 : (rows) == 3 ? 3 : 2)
#endif

/* sums[row][column] (+)= sum over c < channels, t < taps of weights[c][t][row] * staged[c * channel_step + offset[t] + column] */
typedef struct narrow_tile {
    int64_t channels, taps;
    const float *weights, *staged;
    int64_t channel_step;
    const int32_t *offset;
    const float *bias; /* of each row: the sums' start; NULL: they go on */
    float *sums;
    int64_t step; /* from row to row of sums */
} narrow_tile;

typedef void (*narrow_tile_function)(const narrow_tile *tile);

/* [vectors - 1][rows - 1]; NULL where the registers do not suffice */
extern const narrow_tile_function RY_ISA_SYMBOL(narrow_tiles)[NARROW_VECTORS][NARROW_ROWS];

#endif
