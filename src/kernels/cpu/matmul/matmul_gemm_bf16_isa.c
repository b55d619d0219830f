/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products with products of bfloat16 and sums in f32; both operands are rounded at
 * every run. */
#include "kernels/cpu/igemm/igemm_bf16.h"
#include "kernels/cpu/matmul/matmul_gemm.h"
#include "kernels/cpu/parts/cpu_kernel.h"

static void run(const ry_cpu_launch *launch, size_t task)
{
    RY_BASE_SYMBOL(matmul_gemm_run)(launch, &RY_ISA_SYMBOL(bf16_pairs), task);
}

RY_CPU_KERNEL(matmul_bf16_gemm, matmul, bf16, .simd = RY_SIMD, .knobs = ry_gemm_knobs,
              .knob_count = GEMM_KNOBS, .applicable = ry_gemm_takes_floats,
              .values = ry_gemm_values, .prepare = ry_gemm_prepare,
              .initialise = ry_gemm_initialise, .run = run);
