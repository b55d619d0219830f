/* SPDX-License-Identifier: Apache-2.0 */
/* The micro-kernel of stem convolutions: a tile of outputs with all sums in registers, whose operands lie in staged rows (stem_plan.h). */
#ifndef RY_KERNELS_CPU_STEM_STEM_TILE_H
#define RY_KERNELS_CPU_STEM_STEM_TILE_H

#include "kernels/cpu/common/isa.h"
#include "kernels/cpu/common/simd.h"

/* PIXELS:   C[row][column] = bias[row] + sum over k < depth of weights[k][row] * staged[offset[k] + column]
 * CHANNELS: C[row][column] = bias[column] + sum over n < taps, k < depth of staged[n * tap_step + row * pixel_step + k] * weights[n][k][column]
 * bounded by low and high. Whole vectors of columns are read, `columns` are written. */
typedef struct stem_tile {
    int64_t depth, taps;
    const float *weights, *staged, *bias;
    const int32_t *offset;
    int64_t tap_step, pixel_step;
    float *c;
    int64_t c_step, columns;
    float low, high;
} stem_tile;

typedef void (*stem_tile_function)(const stem_tile *tile);

/* [pixels][vectors - 1][rows - 1] */
extern const stem_tile_function RY_ISA_SYMBOL(stem_tiles)[2][RY_TILE_VECTORS][RY_TILE_ROWS];

#endif
