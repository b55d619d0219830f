/* SPDX-License-Identifier: Apache-2.0 */
/* The weight gradient of 3x3 windows of unit stride in Winograd's form.
 *
 * dy is cut into tiles of 4x4 positions, which meet tiles of 6x6 of x. Along an axis the three
 * taps' sums are a convolution of six numbers of x by four of dy, in the points of the forward form
 * with six (parts/winograd_transform.h), where dy takes the place of the weights:
 *
 *     V[p][tile][c] = (B^T x B)[p]      U[p][tile][k] = (G dy G^T)[p]
 *     M[p][c][k] = sum over tiles of V[p][tile][c] U[p][tile][k]        dw[c][k] = A^T M A
 *
 * 36 products for each tile and pair of channels replace 144. Beyond its image x is 0, and so is
 * dy.
 *
 * A task has some input channels by some output channels, and the tiles of a part, block by block:
 * of a block V and U are made, from x and dy where their channels are next to each other, else from
 * lines of them that are transposed before, and multiplied while they are in the second-level
 * cache, beside M. Every WGRAD_SUM_BLOCKS blocks M is transformed and added to the sums, so that no
 * running sum is long.
 *
 *     sums of a part:  [group][c][tap][pitch] [group][bias: pitch] [group][squares]
 *     pitch: k in full vectors
 *
 * as for the implicit GEMM (wgrad_plan.h) parts are as many as the plan says, and a second phase
 * adds them. Sums that are not finite are computed again from positions alone: what a tile holds
 * beside a tap's own elements would be in them, too.
 *
 * So are the sums of a channel of x or dy whose largest tile outweighs all others: its rounding
 * errors would be in sums that its largest elements do not reach, at the border of the image or
 * where the other operand is 0. For each channel the sum of squares of the largest tile is compared
 * with the sums of squares of two positions of all tiles, of all parts: a part may be a corner of
 * one image, where most gradients are 0. */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_WINOGRAD_PLAN_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_WINOGRAD_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"
#include "kernels/form_method.h"

enum {
    WGRAD_WINOGRAD_PARTS,
    WGRAD_WINOGRAD_TILES,
    WGRAD_WINOGRAD_CHANNELS,
    WGRAD_WINOGRAD_FILTERS,
    WGRAD_WINOGRAD_KNOBS
};
extern const ry_knob ry_wgrad_winograd_knobs[WGRAD_WINOGRAD_KNOBS];

enum {
    WGRAD_OUT = 4,                         /* positions of a tile along an axis */
    WGRAD_TAPS = 3,                        /* taps of the window along an axis */
    WGRAD_IN = WGRAD_OUT + WGRAD_TAPS - 1, /* elements of x under a tile, along an axis; also points
                                            */
    WGRAD_POINTS = WGRAD_IN * WGRAD_IN,    /* points of a tile */
    WGRAD_WINDOW = WGRAD_TAPS * WGRAD_TAPS, /* taps of the window */
    WGRAD_SUM_BLOCKS = 16                   /* blocks whose products are one running sum */
};

/* Sums of squares of each channel, a vector of channels each: the largest of a tile; of two
 * positions, all tiles'. */
enum { WGRAD_LARGEST, WGRAD_PROBE_A, WGRAD_PROBE_B, WGRAD_SQUARES };

/* The squares of a group's channels: [part][channels / width][WGRAD_SQUARES][width]. */
typedef struct wgrad_squares {
    const float *at;
    int64_t parts, part_floats; /* floats from part to part */
} wgrad_squares;

/* Largest tile over all tiles at the lesser position: the norm that the forward form admits
 * (winograd_groups.c). */
#define WGRAD_CONTRAST (16.0f * 16.0f)

typedef struct wgrad_winograd_plan {
    wgrad_shape shape;
    int64_t width, tile_rows, tile_vectors; /* lanes of a vector; rows and vectors of a tile of
                                               products */
    ry_cost_column costs;
    int64_t down, along, tiles; /* tiles of an image along each axis; tiles of all images */
    int64_t block, parts;       /* tiles of a block */
    /* channels of a task, whole vectors unless fewer remain */
    int64_t c_block, k_block;
    /* parts, groups, output and input channels; groups, input channels */
    ry_task_cut tasks[2];
    bool x_staged, dy_staged;          /* copied because channels are strided */
    int64_t v_point, u_point, m_point; /* floats from point to point: odd numbers of cache lines */
    int64_t pitch;
    int64_t bias_floats, squares_floats,
        part_floats; /* where a part's bias and squares begin; all */
    size_t v, u, m, stage, sums, bias, squares, scratch;
} wgrad_winograd_plan;

/* Channels of a task's V in full vectors. */
static inline int64_t wgrad_v_row(const wgrad_winograd_plan *plan)
{
    return (plan->c_block + plan->width - 1) / plan->width * plan->width;
}

/* Floats of the squares of a group: of its input channels, then of its output channels. */
static inline int64_t wgrad_x_squares(const wgrad_winograd_plan *plan)
{
    return WGRAD_SQUARES * ((plan->shape.c + plan->width - 1) / plan->width * plan->width);
}
static inline int64_t wgrad_group_squares(const wgrad_winograd_plan *plan)
{
    return wgrad_x_squares(plan) + WGRAD_SQUARES * plan->pitch;
}

bool ry_wgrad_winograd_takes(const ry_problem *problem);
RY_FORM_FUNCTIONS(ry_wgrad_winograd);

#endif
