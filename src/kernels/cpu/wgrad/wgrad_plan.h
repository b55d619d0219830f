/* SPDX-License-Identifier: Apache-2.0 */
/* How the implicit GEMM of a weight gradient is cut into tasks, and what its kernels are asked
 * before they run.
 *
 * The sum over images and positions goes block by block: a block is some lines of an image (a line
 * is along the last spatial dim), or some whole images. A task computes some tiles of output
 * channels by some input channels, with all their taps, over the blocks of a part: of each block it
 * packs dy into panels [position][tile's columns], one for each tile of output channels (unless all
 * of them, channels last, are full vectors of one tile: then dy is a panel where it is stored),
 * and multiplies them by x where it is stored, or by a copy of what the block meets of it: with
 * zeros for padding, and channels a number of cache lines apart that is odd. The rows of a tile are
 * channels, or, of a copy and where channels are few, the taps along the last dim.
 *
 * Parts are as many as the plan says, whatever the number of threads is. Where there is one, a task
 * writes its piece of dw; else each part has sums of its own in the workspace, which a second phase
 * adds in pairs of pairs.
 *
 *     sums of a part:  [group][tile of k][c][tap][tile's columns] [group][tile of k][bias]  */
#ifndef RY_KERNELS_CPU_WGRAD_WGRAD_PLAN_H
#define RY_KERNELS_CPU_WGRAD_WGRAD_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"
#include "kernels/form_method.h"

enum { WGRAD_PARTS, WGRAD_COPIED, WGRAD_K_TILES, WGRAD_CHANNELS, WGRAD_POSITIONS, WGRAD_KNOBS };
extern const ry_knob ry_wgrad_knobs[WGRAD_KNOBS];

typedef struct wgrad_plan {
    wgrad_shape shape;
    double inside; /* share of x's taps that are not padding */
    int64_t width, tile_rows, tile_columns;
    ry_cost_column costs;
    /* What a block has of the outer loop, which goes over images, or of images with a third dim
     * over that, and of lines; how many blocks that makes along each, and of all images. */
    bool outer_is_d;
    int64_t outer_extent, outer_block, line_block, outer_blocks, line_blocks, blocks;
    int64_t parts, k_tiles;   /* shares of the positions; tiles of k in a group */
    int64_t k_block, c_block; /* tiles of k and input channels of a task */
    /* parts, groups, tiles of k, input channels; groups, tiles of k, rows of sums */
    ry_task_cut tasks[2];
    bool copied, taps_are_rows;
    /* dy is read where it is stored; panels of all of a task's tiles are packed at once; floats of
     * a panel */
    bool in_place, together;
    int64_t panel_floats;
    int64_t region[WGRAD_SPACE];      /* what a block meets of an image */
    wgrad_operand copy;               /* how a copy is stored; from its first channel, image, ... */
    int64_t part_floats, bias_floats; /* sums of a part; where in them the bias is */
    size_t panel, x, sums, bias, scratch;
} wgrad_plan;

/* What a block has: from image, d and line on. */
typedef struct wgrad_block {
    int64_t image, d, line, outer, lines;
} wgrad_block;

wgrad_block ry_wgrad_block(const wgrad_plan *plan, int64_t index);
/* Rows of sums of a tile of k. */
static inline int64_t wgrad_rows(const wgrad_plan *plan)
{
    return plan->shape.c * plan->shape.taps;
}

RY_FORM_FUNCTIONS(ry_wgrad);

#endif
