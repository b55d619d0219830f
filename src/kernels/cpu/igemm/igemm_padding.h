/* SPDX-License-Identifier: Apache-2.0 */
/* Which k blocks of the implicit GEMM's reduction a block of pixels needs: the others' taps read
 * nothing but padding there. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_PADDING_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_PADDING_H

#include "kernels/cpu/igemm/igemm_k_block.h"

/* Of a block; k blocks are known by their first steps. Where a block needs none, its first k block
 * stands for all: its panel is zeros. */
typedef struct igemm_k_range {
    int64_t low[RY_SPACE], high[RY_SPACE]; /* the positions of the block are in low <= q <= high */
    int64_t begin, last;                   /* of the first and the last k block that it needs */
} igemm_k_range;

/* Taps of a row of a phase's window: neighbours along the last axis. */
int64_t ry_igemm_tap_row(const igemm_plan *plan, const igemm_phase *phase);

/* Of all rows of outputs with all rows of taps, weighed with the phases' sizes, how many read x. */
double ry_igemm_rows_in_bounds(const igemm_plan *plan);

/* Of the k blocks of all blocks of so many pixels, how many are needed; blocks are sampled where
 * there are many. */
double ry_igemm_k_blocks_in_bounds(const igemm_plan *plan, const igemm_phase *phase, int64_t block);

/* Of the pixels [first, first + count) of a range. */
igemm_k_range ry_igemm_find_k_range(const igemm_plan *plan, const igemm_phase *phase, int64_t first,
                                    int64_t count);

bool ry_igemm_k_block_in_bounds(const igemm_plan *plan, const igemm_phase *phase,
                                const igemm_k_range *k_range, const igemm_k_block *k_block);

#endif
