/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: quantised convolution by implicit GEMM of quads of bytes. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/simd/simd_int8.h"

static void run(const ry_cpu_launch *launch, size_t task)
{
    RY_BASE_SYMBOL(qconv_run)(launch, &RY_ISA_SYMBOL(qconv_tiles), task);
}

RY_QCONV_KERNEL(qconv_igemm, RY_TILE_ROWS, RY_BYTES_LANE, run);
