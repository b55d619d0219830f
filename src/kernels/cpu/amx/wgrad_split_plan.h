/* SPDX-License-Identifier: Apache-2.0 */
/* The weight gradient of a convolution as a product of tiles of bfloat16 over positions: how x and
 * dy are packed, and how the product is cut into tasks. Plain data, kept in a kernel's state.
 *
 * The sum over images and positions goes block by block: a block is some images, or some planes,
 * lines or positions of one. Its positions have places in one row: lines follow each other with as
 * many places between them as taps reach beyond a line, images likewise, so that zeros behind one
 * line are those before the next. The place of what a tap meets is then that of the position and
 * a constant shift:
 *
 *     dy   [part][channel][place]                        zeros in the places between lines
 *     x    [residue][shift][16 channels][part][places]   in pairs of places; odd shifts have a copy
 *                                                        of their own, which begins a place later;
 *                                                        a stride of s makes one for each residue
 *                                                        modulo s of elements that taps meet
 *
 * Operands are split as those of forward convolutions (split_plan.h): into 1, 2 or 3 parts, here
 * `splits`. A task packs of each block of its share of the positions both operands for some input
 * and output channels, and adds for each tap and 32 by 32 channels what four tiles sum from zero:
 * no running sum is as long as the batch. Shares are as many as the plan says, whatever the number
 * of threads is. Where there is one, a task ends with its piece of dw; else a second phase adds
 * theirs in pairs of pairs. What parts in bfloat16 could not hold is repaired before it is stored.
 *
 *     sums:  [group][channel of dy][tap][pitch], bias [group][channel of dy],
 *            ranges of x [group][channel], of dy [group][channel] */
#ifndef RY_KERNELS_CPU_AMX_WGRAD_SPLIT_PLAN_H
#define RY_KERNELS_CPU_AMX_WGRAD_SPLIT_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/costs.h"
#include "kernels/cpu/amx/split_plan.h"
#include "kernels/cpu/wgrad/wgrad_shape.h"
#include "kernels/form_method.h"

enum {
    WGRAD_SPLIT_PARTS,
    WGRAD_SPLIT_K_TILES,
    WGRAD_SPLIT_CHANNELS,
    WGRAD_SPLIT_POSITIONS,
    WGRAD_SPLIT_KNOBS
};
extern const ry_knob ry_wgrad_split_knobs[WGRAD_SPLIT_KNOBS];

enum {
    WGRAD_SPLIT_PAIR = 32,  /* channels of two tiles, and places of one */
    WGRAD_SPLIT_LEVELS = 4, /* images, then the spatial dims */
};

/* One axis of the positions: images or a spatial dim. */
typedef struct wgrad_split_axis {
    ry_window_axis window;
    int64_t block, blocks; /* positions of a block; how many blocks */
    int64_t low, span;     /* what the first tap meets, in strides from the position; how many
                            * strides further the last one is */
    int64_t pitch;         /* places of this axis in one of the axis before */
    int64_t residues;
    int8_t residue[SPLIT_MAX_STRIDE]; /* number of each residue's copy; -1: no tap meets it */
    int8_t residue_of[SPLIT_MAX_STRIDE];
} wgrad_split_axis;

typedef struct wgrad_split_plan {
    wgrad_shape shape;
    wgrad_split_axis axis[WGRAD_SPLIT_LEVELS];
    int64_t splits, residues; /* products over all axes */
    int64_t blocks, steps;    /* steps of 32 places of the largest block */
    int64_t positions;        /* places of x, with the halo that taps reach */
    int64_t row;              /* elements of dy from channel to channel */
    int64_t shifts;           /* copies of x: 2 where a tap's shift is odd */
    int64_t plane;            /* elements of x's places of 16 channels, of a part */
    ry_cost_column costs;
    int64_t parts;            /* shares of the positions */
    int64_t c_pairs, k_pairs; /* pairs of 16 channels in a group */
    int64_t c_block, k_block; /* pairs of a task */
    /* parts, groups, pairs of output and of input channels; groups, output channels */
    ry_task_cut tasks[2];
    int64_t pitch;                           /* floats of a row of sums */
    size_t bias, x_ranges, dy_ranges, share; /* bytes in a share of the workspace */
    size_t x, dy, stage, from, runs, tile, merged, sums, scratch; /* bytes in a worker's scratch */
} wgrad_split_plan;

/* Begin and number of a block's positions at each level. */
typedef struct wgrad_split_block {
    int64_t begin[WGRAD_SPLIT_LEVELS], count[WGRAD_SPLIT_LEVELS];
} wgrad_split_block;

wgrad_split_block ry_wgrad_split_block(const wgrad_split_plan *plan, int64_t index);
/* Steps of 32 places that a block's positions take. */
int64_t ry_wgrad_split_steps(const wgrad_split_plan *plan, const wgrad_split_block *block);

/* Elements of a line that are in neighbouring places. */
typedef struct wgrad_split_run {
    int64_t from; /* offset of a channel's first element in the tensor */
    int64_t at, count;
} wgrad_split_run;

/* The runs of a block, in the order of places, and how many they are: of one residue of x, and of
 * dy. */
int64_t ry_wgrad_split_runs_of_x(const wgrad_split_plan *plan, const wgrad_split_block *block,
                                 int64_t residue, wgrad_split_run *runs);
int64_t ry_wgrad_split_runs_of_dy(const wgrad_split_plan *plan, const wgrad_split_block *block,
                                  wgrad_split_run *runs);

/* Which residue's copy a tap reads, and how far behind a position's place. */
typedef struct wgrad_split_tap {
    int64_t residue, shift;
} wgrad_split_tap;
wgrad_split_tap ry_wgrad_split_tap(const wgrad_split_plan *plan, int64_t tap);

/* Output and input channels of a group, computed by a task of either phase. */
typedef struct wgrad_split_piece {
    int64_t group, out, outs, channel, channels;
} wgrad_split_piece;

/* What is summed of a piece, from its first channels on; a share's, or, of a task that has all
 * positions, its own. */
typedef struct wgrad_split_sums {
    float *sums, *bias;
    split_range *x_ranges, *dy_ranges;
} wgrad_split_sums;

wgrad_split_sums ry_wgrad_split_sums_of(const wgrad_split_plan *plan, void *share,
                                        const wgrad_split_piece *piece);

/* Is it a weight gradient with enough channels a group and enough positions? */
bool ry_wgrad_split_is_possible(const ry_problem *problem);
/* Everything that follows from the problem and a number of positions of a block. */
void ry_wgrad_split_cut(const ry_problem *problem, int64_t splits, int64_t positions,
                        wgrad_split_plan *plan);
RY_FORM_FUNCTIONS(ry_wgrad_split);

/* Magnitudes of dy's channel of a row of sums, of each of x's channels, and of all those. */
typedef struct wgrad_split_ranges {
    const split_range *dy, *x;
    split_range any_x;
} wgrad_split_ranges;

/* Sums again what is not finite or smaller than what may have been lost of it: a row of sums of a
 * tap and `channels` of x, from x of the first of them and dy of the row's channel. Splits of 1
 * need no ranges. */
void ry_wgrad_split_repair(const wgrad_split_plan *plan, const float *x, const float *dy,
                           int64_t tap, const wgrad_split_ranges *ranges, int64_t channels,
                           float *sums);

#endif
