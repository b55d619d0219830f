/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products by implicit GEMM with products of bfloat16 and sums in f32. */
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_bf16.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/matmul/matmul_igemm.h"
#include "kernels/cpu/parts/cpu_kernel.h"

MATMUL_IGEMM_KERNEL(matmul_bf16_igemm, bf16, RY_ISA_SYMBOL(conv_igemm_pack_bf16),
                    RY_ISA_SYMBOL(conv_igemm_run_bf16), RY_SIMD_PAIRS);
