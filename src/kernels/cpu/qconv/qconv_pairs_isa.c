/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel: quantised convolution by implicit GEMM of pairs of 16 bits, exact without an
 * instruction for products of bytes. */
#include "kernels/cpu/qconv/qconv.h"

static void run(const ry_cpu_launch *launch, size_t task)
{
    RY_BASE_SYMBOL(qconv_run)(launch, &RY_ISA_SYMBOL(qconv_pair_tiles), task);
}

RY_QCONV_KERNEL(qconv_pairs, RY_TILE_ROWS, RY_LANE_PAIR, run);
