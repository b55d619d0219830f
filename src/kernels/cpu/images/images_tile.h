/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of a tile of output channels, at all positions of a phase, whose lanes are images. */
#ifndef RY_KERNELS_CPU_IMAGES_IMAGES_TILE_H
#define RY_KERNELS_CPU_IMAGES_IMAGES_TILE_H

#include "kernels/cpu/images/images_plan.h"
#include "kernels/cpu/simd/isa.h"

typedef struct images_tile {
    const float *x; /* the group's first channel */
    float *sums;    /* the tile's first output channel */
    const float *weights, *bias;
    const images_position *position, *end;
    const images_pattern *pattern;
    const images_step *step;
    int64_t channels;             /* input channels */
    int64_t x_channel, y_channel; /* floats */
} images_tile;

typedef void (*images_tile_function)(const images_tile *tile);

/* [several input channels][output channels - 1] */
extern const images_tile_function RY_ISA_SYMBOL(images_tiles)[2][IMAGES_MAX_ROWS];

#endif
