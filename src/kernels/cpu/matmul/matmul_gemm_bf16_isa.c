/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products with products of bfloat16 and sums in f32; both operands are rounded at every run. */
#include "kernels/cpu/conv/igemm_bf16.h"
#include "kernels/cpu/matmul/matmul_gemm.h"

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    (void)phase;
    RY_BASE_SYMBOL(matmul_gemm_run)(launch, &RY_ISA_SYMBOL(ry_bf16_pairs), task, worker);
}

const ry_kernel RY_ISA_SYMBOL(matmul_bf16_gemm) = {.name = "matmul_bf16_gemm_" RY_ISA_TEXT,
                                                   .family = "matmul_bf16_gemm",
                                                   .op = RY_OP_matmul,
                                                   .device = RY_DEVICE_cpu,
                                                   .isa = RY_ISA_ID,
                                                   .accuracy = RY_ACCURACY_bf16,
                                                   .simd = RY_SIMD,
                                                   .knobs = gemm_knobs,
                                                   .knob_count = GEMM_KNOBS,
                                                   .applicable = gemm_takes_floats,
                                                   .values = gemm_values,
                                                   .prepare = gemm_prepare,
                                                   .initialise = gemm_initialise,
                                                   .run = run};
