/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a weight gradient by tiles of split bfloat16, for one instruction set. */
#ifndef RY_KERNELS_CPU_AMX_WGRAD_SPLIT_H
#define RY_KERNELS_CPU_AMX_WGRAD_SPLIT_H

#include "kernels/cpu/amx/wgrad_split_plan.h"
#include "kernels/cpu/simd/amx_tile.h"
#include "kernels/cpu/simd/isa.h"

/* Elements of a block of one operand, and a worker's memory to pack them in. */
typedef struct wgrad_split_source {
    const float *from; /* the first channel of the first image */
    int64_t channel, step, channels;
    const wgrad_split_run *runs;
    int64_t run_count, positions; /* in full steps of 32 places */
    float *stage;                 /* RY_W rows of `places` */
    const float **positions_from; /* as many as places */
    /* ranges and sums of each channel, updated; NULL: not needed */
    split_range *ranges;
    float *totals;
} wgrad_split_source;

/* to[channel][row], and the further parts `apart` elements from each other. */
void RY_ISA_SYMBOL(wgrad_split_pack_rows)(const wgrad_split_source *source, int64_t splits,
                                          uint16_t *to, int64_t row, int64_t part_step);
/* to[16 channels][part][plane]; and where `odd` is not NULL, the same from the second place on. */
void RY_ISA_SYMBOL(wgrad_split_pack_pairs)(const wgrad_split_source *source, int64_t splits,
                                           int64_t plane, uint16_t *to, uint16_t *odd);

/* Sums of up to 32 by 32 channels for one tap. */
typedef struct wgrad_split_product {
    const uint16_t *dy;     /* the first channel */
    int64_t row, part_step; /* elements from channel to channel, and from part to part */
    const uint16_t *x;      /* the first 16 channels, from the tap's first pair on */
    int64_t plane;          /* elements from part to part; 16 channels have all their parts */
    int64_t steps;
    bool two_rows, two_columns; /* more than 16 channels of dy; of x */
    float *sums; /* 32x32 sums, overwritten; half if two_rows or two_columns is false */
} wgrad_split_product;

void RY_ISA_SYMBOL(wgrad_split_multiply)(const wgrad_split_product *product, int64_t splits,
                                         ry_amx *tiles);

/* Adds them to rows of a share's sums, `step` floats apart; first: writes them. */
void RY_ISA_SYMBOL(wgrad_split_add)(const float *from, int64_t rows, int64_t columns, int64_t step,
                                    bool first, float *to);

/* Adds the shares' sums of a piece, whose first `share` is, and stores its weights and biases. */
void RY_ISA_SYMBOL(wgrad_split_finish)(const ry_cpu_launch *launch, const wgrad_split_piece *piece,
                                       void *share);

#endif
