/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of weight gradients: a tile of sums over positions, in registers.
 *
 *     C[row][column] += sum over positions o of A[row][o] * B[o][column]
 *
 * A is x where it is stored, one element broadcast at a time: any stride between rows (channels or
 * taps) and between positions, so nothing is gathered. B is dy, packed, a vector of output channels
 * at a time. Positions are three nested loops, so that a sum stays in the registers over rows of an
 * image and over images. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_TILE_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_TILE_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"

enum { WGRAD_LOOPS = 3 };

typedef struct wgrad_tile {
    const float *a, *b;
    float *c;
    int64_t a_row, c_row;       /* floats from row to row */
    int64_t count[WGRAD_LOOPS]; /* positions of each loop, outer to inner */
    int64_t a_step[WGRAD_LOOPS], b_step[WGRAD_LOOPS];
    bool first; /* C is written, not added to */
} wgrad_tile;

typedef void (*wgrad_tile_function)(const wgrad_tile *tile);

/* [vectors - 1][rows - 1]; a tile's columns are full vectors. */
extern const wgrad_tile_function RY_ISA_SYMBOL(wgrad_tiles)[RY_TILE_VECTORS][RY_TILE_ROWS];

#endif
