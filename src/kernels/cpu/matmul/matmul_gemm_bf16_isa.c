/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products with products of bfloat16 and sums in f32; both operands are rounded at every run. */
#include "kernels/cpu/conv/igemm_bf16.h"
#include "kernels/cpu/matmul/matmul_gemm.h"

static bool applicable(const ry_problem *problem)
{
    return RY_BASE_SYMBOL(matmul_gemm_takes_floats)(problem);
}

static rynd_status prepare(const ry_query *query, ry_prepared *prepared, ry_error *error)
{
    const ry_problem *problem = query->problem;
    return RY_BASE_SYMBOL(matmul_gemm_prepare)(problem, true, prepared, error);
}

static void initialise(const ry_query *query, const ry_prepared *prepared, void *state)
{
    const ry_problem *problem = query->problem;
    (void)prepared;
    RY_BASE_SYMBOL(matmul_gemm_initialise)(problem, true, state);
}

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
                                                   .applicable = applicable,
                                                   .prepare = prepare,
                                                   .initialise = initialise,
                                                   .run = run};
