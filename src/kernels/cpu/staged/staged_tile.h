/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernels of staged convolutions: a tile of outputs with all sums in registers, whose
 * operands are in staged rows (staged_plan.h). */
#ifndef RY_KERNELS_CPU_STAGED_STAGED_TILE_H
#define RY_KERNELS_CPU_STAGED_STAGED_TILE_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/simd/simd.h"
#include "kernels/cpu/staged/staged_plan.h"

enum {
    STAGED_MAX_VECTORS = 4,
    STAGED_FIRST_EDGE = 1,
    STAGED_LAST_EDGE = 2,
    STAGED_EDGES = 4,
    STAGED_HALVES = RY_W / RY_GRAIN
};

/* Sums over n < outer and k < inner, bounded by low and high.
 *
 *   along pixels:    C[row][column] = start[row] + sum of
 *                        weights[n][k][row] * staged[n * staged_step + offset[k] + column]
 *   along channels:  C[row][column] = start[column] + sum of
 *                        staged[n * staged_step + row * pixel_step + k] * weights[n][k][column]
 *
 * Reads full vectors of columns, or half vectors if they suffice; writes `columns` columns. */
typedef struct staged_tile {
    int64_t outer, inner;
    const float *weights, *staged;
    const float *bias; /* NULL, along pixels: the sums go on from C */
    const int32_t *offset;
    int64_t weights_step, staged_step, pixel_step; /* floats per n, per n, per row */
    float *c;
    int64_t c_step, columns;
    float low, high;
    /* along pixels: NULL, or which vectors have lanes that step k does not read, but takes for
     * 0: */
    const uint8_t *edges;
    /* masks of the first vector, and of the last if there are two */
    const ry_vm *first, *last;
} staged_tile;

typedef void (*staged_tile_function)(const staged_tile *tile);

/* [has it edges?][are the last vector's columns at most half, and does that take half the
 * time?][vectors - 1][rows - 1]; NULL where the registers do not suffice */
extern const staged_tile_function
    RY_ISA_SYMBOL(staged_pixel_tiles)[2][STAGED_HALVES][STAGED_MAX_VECTORS][RY_TILE_ROWS];
extern const staged_tile_function
    RY_ISA_SYMBOL(staged_channel_tiles)[RY_TILE_VECTORS][RY_TILE_ROWS];

#endif
