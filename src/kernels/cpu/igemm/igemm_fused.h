/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a transposed convolution that a task of the implicit GEMM computes side by side. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_BUNDLE_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_BUNDLE_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Puts the plan's phases into fused groups, and makes the grids of each equal. */
void ry_igemm_fuse_phases(const ry_problem *problem, igemm_plan *plan, ry_conv_tap *tap);

/* Fills `passes` of a fused group from its members' k blocks. */
void ry_igemm_count_passes(igemm_phase *first);

/* Gives a fused group's members their places among the worker's panels and blocks, and counts the floats
 * of both. */
void ry_igemm_place_fused(const igemm_plan *plan, igemm_phase *first, int64_t *panels,
                          int64_t *blocks);

#endif
