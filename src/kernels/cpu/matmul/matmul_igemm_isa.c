/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: matrix products by implicit GEMM, with a packed right operand. */
#include "kernels/cpu/igemm/igemm.h"
#include "kernels/cpu/igemm/igemm_prepare.h"
#include "kernels/cpu/matmul/matmul_igemm.h"
#include "kernels/cpu/parts/cpu_kernel.h"

MATMUL_IGEMM_KERNEL(matmul_f32_igemm, strict, RY_ISA_SYMBOL(conv_igemm_pack),
                    RY_ISA_SYMBOL(conv_igemm_run), RY_SIMD);
