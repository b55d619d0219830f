/* SPDX-License-Identifier: Apache-2.0 */
/* The blocked matrix product of one instruction set, as the functions that kernels are made of. */
#ifndef RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_H
#define RY_KERNELS_CPU_MATMUL_MATMUL_GEMM_H

#include "kernels/cpu/conv/tile.h"
#include "kernels/kernel.h"

bool RY_BASE_SYMBOL(matmul_gemm_takes_floats)(const ry_problem *problem);

/* pairs: operands are pairs of neighbours along k; they are in the run, too, else NULL. */
rynd_status RY_BASE_SYMBOL(matmul_gemm_prepare)(const ry_problem *problem, bool pairs, ry_prepared *prepared, ry_error *error);
void RY_BASE_SYMBOL(matmul_gemm_initialise)(const ry_problem *problem, bool pairs, void *state);
void RY_BASE_SYMBOL(matmul_gemm_run)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs, size_t index, unsigned worker);

#endif
