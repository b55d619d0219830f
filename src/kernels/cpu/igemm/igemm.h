/* SPDX-License-Identifier: Apache-2.0 */
/* The implicit GEMM of one instruction set, as the functions that kernels are made of. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_H

#include "kernels/cpu/igemm/igemm_plan.h"
#include "kernels/cpu/parts/tile.h"
#include "kernels/cpu/simd/isa.h"

/* Packs the weights of one oc block of one group (oc_block_task below groups * oc blocks). */
void RY_ISA_SYMBOL(igemm_pack)(const igemm_plan *plan, const ry_problem *problem, const void *w,
                               float *packed, int64_t oc_block_task);

/* Gathers one k block of one block into the shared panels (index below plan->gathers). pairs: of a
 * plan of pairs, else NULL. */
void RY_BASE_SYMBOL(igemm_share)(const igemm_plan *plan, const ry_cpu_launch *launch,
                                 const ry_tile_pairs *pairs, float *shared, int64_t index,
                                 char *scratch);

/* Computes one task from weights packed so; shared: the panels, where the plan has them. */
void RY_BASE_SYMBOL(igemm_run)(const igemm_plan *plan, const ry_cpu_launch *launch,
                               const ry_tile_pairs *pairs, const float *packed, const float *shared,
                               int64_t index, char *scratch);

/* A kernel's own functions: the launch's problem is a convolution, its state the plan. pairs: of a
 * plan of pairs, else NULL. */
void RY_BASE_SYMBOL(conv_igemm_run_pairs)(const ry_cpu_launch *launch, const ry_tile_pairs *pairs,
                                          size_t task);
void RY_ISA_SYMBOL(conv_igemm_pack)(const ry_cpu_launch *launch, size_t task);
void RY_ISA_SYMBOL(conv_igemm_run)(const ry_cpu_launch *launch, size_t task);
void RY_ISA_SYMBOL(conv_igemm_pack_bf16)(const ry_cpu_launch *launch, size_t task);
void RY_ISA_SYMBOL(conv_igemm_run_bf16)(const ry_cpu_launch *launch, size_t task);

#endif
