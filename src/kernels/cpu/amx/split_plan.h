/* SPDX-License-Identifier: Apache-2.0 */
/* Convolution as a product of tiles of bfloat16: how x is copied, and how the product is cut into
 * tasks. Plain data, kept in a kernel's state.
 *
 * A float is the sum of parts in bfloat16, each the rest of those before it, rounded to nearest:
 * two parts leave 2^-17 of it at most, three nothing. Of the products of two operands' parts i and
 * j those with i + j below the number of parts are summed: 1, 3 or 6 products.
 *
 * A first phase copies x, split, into the workspace: pixel by pixel, a pixel's channels in steps of
 * 32 (zeros behind the last), with the zeros of the padding around it. A stride of s makes s x s
 * planes of it, one a residue of the position, in which neighbouring outputs read neighbouring
 * pixels:
 *
 *     copy[image][group][residues][plane row][plane column][part][channel]        planes that
 *         no tap reads are left out
 *
 * So each tap of an output pixel is at a constant distance from it, and 16 pixels in a row are the
 * rows of a tile wherever they are read. A segment is a range of pixels that are stored so: a row
 * of outputs, or all rows, the columns of padding between them computed in vain (`flat`), whichever
 * takes fewer tiles. A task computes a block of a segment's pixels for a range of oc blocks of 32
 * output channels.
 *
 * Ranges of the magnitudes in x's rows and in each oc block's weights tell where parts or products
 * may leave the range of normal floats (split_guard). */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_PLAN_H
#define RY_KERNELS_CPU_AMX_SPLIT_PLAN_H

#include "base/float_bits.h"
#include "kernels/common/task_cut.h"
#include "kernels/cpu/parts/conv_geometry.h"

enum {
    SPLIT_STEP = 32,     /* channels of a tile's row */
    SPLIT_OC_BLOCK = 32, /* output channels of two tiles */
    SPLIT_TILE = 512,    /* elements of a tile */
    SPLIT_MAX_PARTS = 3,
    SPLIT_MAX_STRIDE = 64,
    SPLIT_LANES = 16, /* lanes of a vector on a core with tiles */
    SPLIT_STRIP = 64, /* positions of a row that are split at once */
};

/* Magnitudes as the bits of floats, which are ordered alike: the least that is not zero, minus 1
 * (so that zero is beyond all), and the largest. */
typedef struct split_range {
    uint32_t low, high;
} split_range;

typedef struct split_plan {
    ry_conv_geometry geometry;
    ry_conv_phase phase;
    int64_t parts, steps; /* parts and steps of the depth for one tap */
    int64_t pitch;        /* elements of the copy from pixel to pixel */
    int64_t origin[RY_SPACE], dilation[RY_SPACE];
    int64_t extent[RY_SPACE]; /* positions that outputs read, with padding, from origin on */
    int64_t stored[RY_SPACE]; /* residues that have planes */
    int64_t plane[RY_SPACE];  /* positions of a plane */
    int32_t residue[RY_SPACE][SPLIT_MAX_STRIDE]; /* number of each residue's plane; -1: none */
    int64_t copy;          /* elements of the copy of one group of one image */
    int64_t rows;          /* positions of the two outer axes, which have a range each */
    ry_task_cut row_tasks; /* rows of all copies */
    bool flat;
    bool along_channels;       /* y's channels, and the residual's, are next to each other */
    int64_t segments, segment; /* segments of an image's group; pixels of a segment, with unused
                                  ones */
    int64_t block;             /* pixels of a task */
    int64_t oc_blocks;
    ry_task_cut tasks;       /* images, groups, segments, pixels, oc blocks */
    int64_t oc_block_packed; /* elements of an oc block's packed weights */
    /* bytes: ranges of the oc blocks come first in packed memory, then the weights */
    size_t weights, packed;
    size_t copies, workspace; /* ranges of the rows come first in the workspace, then the copies */
    size_t transposed, sums, scratch; /* scratch of a worker */
    /* ry_conv_tap[geometry.taps], and each tap's int64_t in the copy, in bytes from the plan's
     * start */
    size_t taps, distances, size;
} split_plan;

/* A convolution of floats, nothing else. */
bool ry_split_is_possible(const ry_problem *problem);

/* Summands of bfloat16 that an operand is split into. */
static inline int64_t split_parts_of(ry_accuracy accuracy)
{
    return accuracy == RY_ACCURACY_strict ? 3 : accuracy == RY_ACCURACY_near32 ? 2 : 1;
}

/* Any value may be set beside any other, and no bit of the result depends on them. */
enum { SPLIT_FLAT, SPLIT_BLOCK, SPLIT_OC_BLOCKS, SPLIT_KNOBS };
/* A plan step by step: what follows from the problem alone; the segments of an image; then, once its
 * block is set, sizes and places; and the tables behind a state. */
void ry_split_start(const ry_problem *problem, int64_t parts, split_plan *plan);
void ry_split_set_segments(split_plan *plan, bool flat);
void ry_split_lay_out(const ry_query *query, void *plan);
void ry_split_make_tables(const ry_query *query, void *state);

static inline const ry_conv_tap *split_taps(const split_plan *plan)
{
    return (const ry_conv_tap *)(const void *)((const char *)plan + plan->taps);
}

static inline const int64_t *split_distances(const split_plan *plan)
{
    return (const int64_t *)(const void *)((const char *)plan + plan->distances);
}

/* The outputs of one task of the second phase. */
typedef struct split_task {
    int64_t image, group;
    int64_t depth, row;   /* depth and row of the segment's first output */
    int64_t first, count; /* pixels of the segment */
    int64_t oc_block, oc_blocks;
} split_task;

split_task ry_split_task_at(const split_plan *plan, size_t index);

/* Packs the weights of one oc block of one group: a convolution's `pack`, whose state is the plan.
 * The elements' order is that in which tiles are read: [tap][step][part][half of the oc block]. */
void ry_split_pack(const ry_cpu_launch *launch, size_t task);

/* The next part of a float: `rest` rounded to bfloat16, and what is left. Where rest is not finite,
 * nothing is left. */
static inline uint32_t split_next_part(uint32_t bits, uint32_t *left)
{
    const uint32_t magnitude = bits & 0x7fffffffu,
                   quiet = magnitude > 0x7f800000u ? 0x00400000u : 0u;
    const bool finite = magnitude < 0x7f800000u;
    const uint32_t part =
        (finite ? bits + 0x7fffu + (bits >> 16 & 1u) : bits | quiet) & 0xffff0000u;
    *left = ry_f32_bits(finite ? ry_f32_of_bits(bits) - ry_f32_of_bits(part) : 0.0f);
    return part;
}

/* What sums of products of a row range of x with an oc block's weights need looking at. */
typedef struct split_guard {
    /* outputs may not be finite where the direct sum is, or NaN where it is infinite */
    bool overflow;
    /* smaller outputs may have lost digits of theirs to zeros instead of subnormals; 0: none has */
    float min;
} split_guard;

/* The guard of sums of `terms` products, operands in 2 or 3 parts; the guard of a convolution. */
split_guard ry_split_guard_of_sums(int64_t parts, double terms, split_range x, split_range w);
split_guard ry_split_guard_of(const split_plan *plan, split_range x, split_range w);

/* Sums again those of `channels` outputs of each of the task's pixels that the guard tells of, in
 * float32: sums[pixel][SPLIT_OC_BLOCK], x of the image's group, w of the oc block. */
void ry_split_fixup(const split_plan *plan, const split_task *task, const float *x, const float *w,
                    split_guard guard, int64_t channels, float *sums);

/* The range of the rows of x that a task reads. */
split_range ry_split_rows_read(const split_plan *plan, const split_task *task,
                               const split_range *ranges);

#endif
