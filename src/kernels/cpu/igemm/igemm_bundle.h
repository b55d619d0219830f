/* SPDX-License-Identifier: Apache-2.0 */
/* Phases of a transposed convolution that a task of the implicit GEMM computes side by side. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_BUNDLE_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_BUNDLE_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Puts the plan's phases into bundles, and makes the grids of each equal. */
void ry_igemm_bundle_phases(const ry_problem *problem, igemm_plan *plan, ry_conv_tap *tap);

/* Fills `passes` of a bundle from its members' k blocks. */
void ry_igemm_count_passes(igemm_phase *first);

/* Gives a bundle's members their places among the worker's panels and blocks, and counts the floats
 * of both. */
void ry_igemm_place_bundle(const igemm_plan *plan, igemm_phase *first, int64_t *panels,
                           int64_t *blocks);

#endif
