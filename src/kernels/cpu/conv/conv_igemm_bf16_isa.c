/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: convolution and transposed convolution by implicit GEMM with products of bfloat16 and sums in f32. */
#include "kernels/cpu/conv/conv_kernel.h"
#include "kernels/cpu/conv/igemm.h"
#include "kernels/cpu/conv/igemm_bf16.h"
#include "kernels/cpu/conv/igemm_prepare.h"

void RY_ISA_SYMBOL(conv_igemm_pack_bf16)(const ry_cpu_launch *launch, size_t task)
{
    igemm_pack_bf16(launch->state, launch->problem, launch->in[1], launch->packed_out, (int64_t)task);
}

void RY_ISA_SYMBOL(conv_igemm_run_bf16)(const ry_cpu_launch *launch, size_t task)
{
    RY_BASE_SYMBOL(conv_igemm_run_pairs)(launch, &RY_ISA_SYMBOL(ry_bf16_pairs), task);
}

RY_CONV_KERNELS_OF(bf16_igemm, bf16, .simd = RY_SIMD_PAIRS, .knobs = igemm_knobs, .knob_count = IGEMM_KNOBS,
                   .applicable = igemm_takes_floats, .values = igemm_values, .prepare = igemm_prepare, .initialise = igemm_initialise,
                   .pack = RY_ISA_SYMBOL(conv_igemm_pack_bf16), .run = RY_ISA_SYMBOL(conv_igemm_run_bf16), .packed_inputs = 1u << 1);
