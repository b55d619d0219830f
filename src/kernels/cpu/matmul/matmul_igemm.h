/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products by the implicit GEMM, as the convolutions of one tap that they are. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_IGEMM_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_IGEMM_H

#include "kernels/cpu/matmul/matmul_as_conv.h"

bool ry_matmul_igemm_takes(const ry_problem *problem);
void ry_matmul_igemm_values(const ry_query *query, int knob, ry_knob_values *values);
rynd_status ry_matmul_igemm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_matmul_igemm_initialise(const ry_query *query, void *state);
void ry_matmul_igemm_packing(const ry_prepared *prepared, ry_text *key);

/* The kernel's row (cpu_kernel.h) for one class, whose packing and products are the convolution's.
 */
#define MATMUL_IGEMM_KERNEL(symbol, class, pack_of_conv, run_of_conv, vectors)          \
    MATMUL_AS_CONV(pack, pack_of_conv)                                                  \
    MATMUL_AS_CONV(run, run_of_conv)                                                    \
    RY_CPU_KERNEL(symbol, matmul, class, .simd = vectors, .knobs = ry_igemm_knobs,      \
                  .knob_count = IGEMM_KNOBS, .applicable = ry_matmul_igemm_takes,       \
                  .values = ry_matmul_igemm_values, .prepare = ry_matmul_igemm_prepare, \
                  .initialise = ry_matmul_igemm_initialise, .pack = pack, .run = run,   \
                  .packed_inputs = 1u << 1, .packing = ry_matmul_igemm_packing)

#endif
