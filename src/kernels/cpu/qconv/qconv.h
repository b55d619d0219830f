/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of one instruction set's quantised convolution. */
#ifndef RY_KERNELS_CPU_QCONV_QCONV_H
#define RY_KERNELS_CPU_QCONV_QCONV_H

#include "kernels/cpu/igemm/igemm_task.h"

/* Half a vector of quads takes as long as a whole one. */
#define RY_SIMD_BYTES                             \
    {                                             \
        RY_W, RY_W, RY_TILE_ROWS, RY_TILE_VECTORS \
    }

extern const ry_tile_set RY_ISA_SYMBOL(qconv_tiles);

/* How finished sums become y. */
typedef struct qconv_store {
    const ry_problem *problem; /* the quantised convolution */
    const float *scale;        /* one an output channel */
} qconv_store;

/* ry_tile_pairs.store; how: a qconv_store. */
void RY_ISA_SYMBOL(qconv_store_oc_block)(const void *how, const igemm_task *task, int64_t oc_block);

#endif
