/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked matrix product of one instruction set, as the function that kernels are made of. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_H

#include "kernels/cpu/matmul/matmul_gemm_plan.h"
#include "kernels/cpu/parts/tile.h"

/* pairs: of a plan of pairs, else NULL. */
void RY_BASE_SYMBOL(matmul_gemm_run)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs,
                                     size_t index);

#endif
