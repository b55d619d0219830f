/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: quantised convolution by implicit GEMM of quads of bytes, in AMX's tiles. */
#include "kernels/cpu/qconv/qconv.h"
#include "kernels/cpu/simd/amx_tile.h"

static void run(const ry_cpu_launch *launch, size_t task)
{
    ry_amx tiles;
    ry_amx_begin(&tiles);
    RY_BASE_SYMBOL(qconv_run)(launch, &RY_ISA_SYMBOL(qconv_square_tiles), task);
    ry_amx_end(&tiles);
}

RY_QCONV_KERNEL(qconv_matrix, RY_AMX_ROWS, RY_LANE_TILE, run);
