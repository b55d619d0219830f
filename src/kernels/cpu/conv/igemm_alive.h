/* SPDX-License-Identifier: Apache-2.0 */
/* Which chunks of the implicit GEMM's reduction a block of pixels needs: the others' taps read nothing but padding there. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_ALIVE_H
#define RY_KERNELS_CPU_CONV_IGEMM_ALIVE_H

#include "kernels/cpu/conv/igemm_chunk.h"

/* Of a block; chunks are known by their first steps. Where a block needs none, its first chunk stands for all: its panel is zeros. */
typedef struct igemm_live {
    int64_t low[RY_SPACE], high[RY_SPACE]; /* the positions of the block lie in low <= q <= high */
    int64_t begin, last;                   /* of the first and the last chunk that it needs */
} igemm_live;

/* Taps of a row of a phase's window: neighbours along the last axis. */
int64_t igemm_tap_row(const igemm_plan *plan, const igemm_phase *phase);

/* Of all rows of outputs with all rows of taps, weighed with the phases' sizes, how many read x. */
double igemm_rows_alive(const igemm_plan *plan);

/* Of the chunks of all blocks of so many pixels, how many are needed; blocks are sampled where there are many. */
double igemm_chunks_alive(const igemm_plan *plan, const igemm_phase *phase, int64_t block);

/* Of the pixels [first, first + count) of a range. */
igemm_live igemm_find_live(const igemm_plan *plan, const igemm_phase *phase, int64_t first, int64_t count);

bool igemm_chunk_lives(const igemm_plan *plan, const igemm_phase *phase, const igemm_live *live, const igemm_chunk *chunk);

#endif
