/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM with products of bfloat16 and
 * sums in f32. */
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_bf16.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/parts/conv_kernel.h"

void RY_ISA_SYMBOL(conv_igemm_pack_bf16)(const ry_cpu_launch *launch, size_t task)
{
    ry_igemm_pack_bf16(launch->state, launch->problem, launch->in[1], launch->packed_out,
                       (int64_t)task);
}

void RY_ISA_SYMBOL(conv_igemm_run_bf16)(const ry_cpu_launch *launch, size_t task)
{
    RY_BASE_SYMBOL(conv_igemm_run_pairs)(launch, &RY_ISA_SYMBOL(bf16_pairs), task);
}

RY_CONV_KERNELS_OF(bf16_igemm, bf16, .simd = RY_SIMD_PAIRS, .knobs = ry_igemm_knobs,
                   .knob_count = IGEMM_KNOBS, .applicable = ry_conv_takes_floats,
                   .values = ry_igemm_values, .prepare = ry_igemm_prepare,
                   .initialise = ry_igemm_initialise, .pack = RY_ISA_SYMBOL(conv_igemm_pack_bf16),
                   .run = RY_ISA_SYMBOL(conv_igemm_run_bf16), .packed_inputs = 1u << 1,
                   .packing = ry_igemm_packing);
