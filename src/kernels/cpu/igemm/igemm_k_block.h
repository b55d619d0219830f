/* SPDX-License-Identifier: Apache-2.0 */
/* The k blocks of the implicit GEMM's reduction, in its order (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_K_BLOCK_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_K_BLOCK_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* A k block of the reduction. */
typedef struct igemm_k_block {
    int64_t channel, channels, tap, taps; /* taps count from the phase's first */
    int64_t first;                        /* position in the packed weights, in steps */
    int64_t depth, steps;
} igemm_k_block;

/* The k block after `k_block`, in the reduction's order; the first one after an empty one. */
void ry_igemm_next_k_block(const igemm_plan *plan, const igemm_phase *phase,
                           igemm_k_block *k_block);

/* Sets the phase's steps and last_k_block, once its blocks are cut. Blocks of pairs may have more
 * steps together than the whole reduction: one of odd depth ends with half a pair. */
void ry_igemm_count_steps(const igemm_plan *plan, igemm_phase *phase);

#endif
