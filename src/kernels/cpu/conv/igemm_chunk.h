/* SPDX-License-Identifier: Apache-2.0 */
/* The chunks of the implicit GEMM's reduction, in its order (igemm_plan.h). */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_CHUNK_H
#define RY_KERNELS_CPU_CONV_IGEMM_CHUNK_H

#include "kernels/cpu/conv/igemm_plan.h"

/* A chunk of the reduction. */
typedef struct igemm_chunk {
    int64_t channel, channels, tap, taps; /* taps count from the phase's first */
    int64_t first;                        /* position in the packed weights, in steps */
    int64_t depth, steps;
} igemm_chunk;

/* The chunk after `chunk`, in the reduction's order; the first one after an empty one. */
void igemm_next_chunk(const igemm_plan *plan, const igemm_phase *phase, igemm_chunk *chunk);

#endif
