/* SPDX-License-Identifier: Apache-2.0 */
/* Which k blocks of the implicit GEMM's reduction a block of pixels needs: the others' taps read
 * nothing but padding there. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_PADDING_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_PADDING_H

#include "kernels/cpu/igemm/igemm_k_block.h"

/* The k blocks that a block needs, named by their first steps. A block that needs none keeps its
 * first k block, whose panel is zeros. */
typedef struct igemm_k_range {
    int64_t low[RY_SPACE], high[RY_SPACE]; /* the positions of the block are in low <= q <= high */
    int64_t begin, last;                   /* first and last k block needed */
} igemm_k_range;

/* Taps of a row of a phase's window: neighbours along the last axis. */
int64_t ry_igemm_tap_row(const igemm_plan *plan, const igemm_phase *phase);

/* Share of (output row, tap row) pairs that read x, weighted by phase size. */
double ry_igemm_rows_in_bounds(const igemm_plan *plan);

/* Share of k blocks needed, over all blocks of `block` pixels. Samples blocks if there are many. */
double ry_igemm_k_blocks_in_bounds(const igemm_plan *plan, const igemm_phase *phase, int64_t block);

/* The k range of the pixels [first, first + count). */
igemm_k_range ry_igemm_find_k_range(const igemm_plan *plan, const igemm_phase *phase, int64_t first,
                                    int64_t count);

bool ry_igemm_k_block_in_bounds(const igemm_plan *plan, const igemm_phase *phase,
                                const igemm_k_range *k_range, const igemm_k_block *k_block);

#endif
