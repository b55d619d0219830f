/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a task in Winograd's form (winograd_plan.h). */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_H

#include "kernels/cpu/simd/isa.h"
#include "kernels/cpu/winograd/winograd_prefetch.h"

/* What the transform of inputs fills: V, and of each tile whether it may be uneven. */
typedef struct winograd_inputs {
    float *v;
    bool *uneven;
    float *squares, *stage; /* a worker's */
} winograd_inputs;

/* V of the tiles [first, first + count) and the group's channels [channel, channel + channels),
 * from x of the group's first channel. Returns false if some of it was not finite: zeros then take
 * the place of infinities and NaNs in x. */
bool RY_ISA_SYMBOL(winograd_transform_input)(const winograd_plan *plan, const float *x,
                                             int64_t first, int64_t count, int64_t channel,
                                             int64_t channels, const winograd_inputs *to);

typedef struct winograd_epilogue {
    float *y;              /* the group's first output */
    const float *residual; /* the same; NULL: none */
    int64_t channel;       /* the task's first column */
    const float *bias;     /* one a column of the task, full vectors */
    int64_t bias_phase;    /* floats from a phase's to the next one's; 0: all have the same */
    ry_activation_of activation;
    bool bounds; /* the activation is low <= y <= high; else these are infinite */
    float low, high;
} winograd_epilogue;

/* y of the tiles and `channels` columns from M; false: some products are not finite. */
bool RY_ISA_SYMBOL(winograd_transform_output)(const winograd_plan *plan, const float *m,
                                              int64_t first, int64_t count, int64_t channels,
                                              const winograd_epilogue *end, float *stage);

/* A block's tiles, and the blocks of output channels whose products M holds. */
typedef struct winograd_block {
    int64_t first, count; /* tiles */
    int64_t oc_block, oc_blocks;
    bool finite;        /* all products of M */
    bool x_finite;      /* all inputs of the tiles */
    const bool *uneven; /* may the tile be uneven? [tile] */
} winograd_block;

/* Writes the outputs again that Winograd's form cannot give (winograd_fixup.h): call it if a
 * transform returned false, or if a tile is uneven. x and w: of the group. M is overwritten;
 * `outputs`: a worker's. Returns how many multiply-adds of vectors direct sums took. */
int64_t RY_ISA_SYMBOL(winograd_fixup)(const winograd_plan *plan, const float *x, const float *w,
                                      float *m, const winograd_block *block,
                                      const winograd_epilogue *end, float *stage,
                                      winograd_outputs *outputs);

/* U of one block of output channels of one group. */
void RY_ISA_SYMBOL(winograd_pack)(const winograd_plan *plan, const float *w, float *packed,
                                  int64_t group, int64_t oc_block);

/* M of `tiles` tiles for the oc blocks [oc_block, oc_block + oc_blocks), from their U; lines of x
 * and y are fetched on the way. */
void RY_ISA_SYMBOL(winograd_multiply)(const winograd_plan *plan, const float *v,
                                      const float *packed, int64_t tiles, int64_t oc_block,
                                      int64_t oc_blocks, float *m, winograd_prefetch *x,
                                      winograd_prefetch *y);

#endif
