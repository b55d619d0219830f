/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products by implicit GEMM with products of bfloat16 and sums in f32. */
#include "kernels/cpu/conv/igemm.h"
#include "kernels/cpu/conv/igemm_prepare.h"
#include "kernels/cpu/matmul/matmul_igemm.h"

static void pack(const ry_cpu_launch *launch, size_t task)
{
    matmul_as_conv conv;
    const ry_cpu_launch as_conv = matmul_igemm_launch(launch, &conv);
    RY_ISA_SYMBOL(conv_igemm_pack_bf16)(&as_conv, task);
}

static void run(const ry_cpu_launch *launch, int phase, size_t task, unsigned worker)
{
    matmul_as_conv conv;
    const ry_cpu_launch as_conv = matmul_igemm_launch(launch, &conv);
    RY_ISA_SYMBOL(conv_igemm_run_bf16)(&as_conv, phase, task, worker);
}

const ry_kernel RY_ISA_SYMBOL(matmul_bf16_igemm) = {
    .name = "matmul_bf16_igemm_" RY_ISA_TEXT,
    .family = "matmul_bf16_igemm",
    .op = RY_OP_matmul,
    .device = RY_DEVICE_cpu,
    .isa = RY_ISA_ID,
    .accuracy = RY_ACCURACY_bf16,
    .simd = {RY_W, RY_W, RY_TILE_ROWS, RY_TILE_VECTORS},
    .knobs = igemm_knobs,
    .knob_count = IGEMM_KNOBS,
    .applicable = matmul_igemm_takes,
    .values = matmul_igemm_values,
    .prepare = matmul_igemm_prepare,
    .initialise = matmul_igemm_initialise,
    .pack = pack,
    .run = run,
    .packed_inputs = 1u << 1,
};
