/* SPDX-License-Identifier: Apache-2.0 */
/* How a convolution of a batch of tiny images is computed, forward or transposed: the lanes of a
 * vector are images. Plain data, kept in a kernel's state.
 *
 * A task transposes x of as many images as a vector has lanes, so that an element of all of them is
 * one vector, whatever the layout. A tile sums some output channels at one position in registers,
 * over the taps that are inside x. The sums are transposed back on their way to y.
 *
 *     x, sums: [element of an image, as it is stored][image]
 *     weights: [group][phase][tile][tap][input channel][output channel of the tile] */
#ifndef RY_KERNELS_CPU_IMAGES_IMAGES_PLAN_H
#define RY_KERNELS_CPU_IMAGES_IMAGES_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/parts/conv_geometry.h"
#include "kernels/kernel.h"

/* Most output channels of a tile. */
enum { IMAGES_MAX_ROWS = 16 };

/* A tap of a pattern: floats from a position's place in x, and its number in the phase. */
typedef struct images_step {
    int32_t x, tap;
} images_step;

/* The taps that are inside x at some positions of a phase: steps [first, end). */
typedef struct images_pattern {
    int32_t first, end;
} images_pattern;

/* A position of a phase's grid: floats from the starts of x and y, and its pattern. */
typedef struct images_position {
    int32_t x, y, pattern;
} images_position;

typedef struct images_plan {
    ry_conv_geometry geometry;
    int64_t width;  /* lanes of a vector */
    int64_t tiles;  /* a group's, along output channels */
    int64_t x_size; /* elements of an image of x, and of y */
    int64_t y_size;
    int64_t packed_group; /* floats */
    ry_cut_axis images;   /* a task takes a part of them */
    ry_work work;         /* in vector multiply-adds */
    /* bytes from the start of a worker's scratch */
    size_t x, sums, bias, scratch;
    /* bytes from the start of the plan: phases, taps, positions, patterns, steps */
    size_t phases, taps, positions, patterns, steps, size;
} images_plan;

bool ry_images_takes(const ry_problem *problem);
rynd_status ry_images_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_images_initialise(const ry_query *query, void *state);
void ry_images_packing(const ry_prepared *prepared, ry_text *key);

static inline const ry_conv_phase *images_phases(const images_plan *plan)
{
    return (const ry_conv_phase *)(const void *)((const char *)plan + plan->phases);
}

static inline const ry_conv_tap *images_taps(const images_plan *plan)
{
    return (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
}

/* First output channel of a tile: they are as even as they can be. */
static inline int64_t images_tile_first(const images_plan *plan, int64_t tile)
{
    const int64_t channels = plan->geometry.channels_out, extra = channels % plan->tiles;
    return tile * (channels / plan->tiles) + (tile < extra ? tile : extra);
}

#endif
