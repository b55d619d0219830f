/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of one instruction set's quantised convolution. */
#ifndef RY_KERNELS_CPU_QCONV_QCONV_H
#define RY_KERNELS_CPU_QCONV_QCONV_H

#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/igemm/igemm_task.h"
#include "kernels/cpu/parts/cpu_kernel.h"
#include "kernels/cpu/qconv/qconv_plan.h"

/* The row of a kernel. Half a vector of lanes takes as long as a whole one. */
#define RY_QCONV_KERNEL(symbol, tile_rows, lane_kind, run_task)                                    \
    RY_CPU_KERNEL(                                                                                 \
        symbol, qconv, strict, .simd = {RY_W, RY_W, tile_rows, RY_TILE_VECTORS, lane_kind},        \
        .knobs = ry_igemm_knobs, .knob_count = IGEMM_KNOBS, .applicable = ry_qconv_takes,          \
        .values = ry_qconv_values, .prepare = ry_qconv_prepare, .initialise = ry_qconv_initialise, \
        .pack = ry_qconv_pack, .run = run_task, .packed_inputs = 1u << 1 | 1u << 2 | 1u << 4,      \
        .packing = ry_qconv_packing)

/* Products of quads, of quads in AMX's tiles, and of pairs. */
extern const ry_tile_set RY_ISA_SYMBOL(qconv_tiles), RY_ISA_SYMBOL(qconv_square_tiles),
    RY_ISA_SYMBOL(qconv_pair_tiles);

/* ry_kernel.run, by tiles. */
void RY_BASE_SYMBOL(qconv_run)(const ry_cpu_launch *launch, const ry_tile_set *tiles, size_t task);

/* How finished sums become y. */
typedef struct qconv_store {
    const ry_problem *problem; /* the quantised convolution */
    const float *scale;        /* one an output channel */
} qconv_store;

/* ry_tile_pairs.store; how: a qconv_store. */
void RY_ISA_SYMBOL(qconv_store_oc_block)(const void *how, const igemm_task *task, int64_t oc_block);

#endif
