/* SPDX-License-Identifier: Apache-2.0 */
/* Reads an image at the positions of a block (points_plan.h). */
#ifndef RY_KERNELS_CPU_SAMPLE_POINTS_H
#define RY_KERNELS_CPU_SAMPLE_POINTS_H

#include "kernels/cpu/sample/points_plan.h"
#include "kernels/cpu/simd/isa.h"

/* Computes `count` positions (at most plan->block) of the taps of `axis`, one for each dim. */
void RY_ISA_SYMBOL(points_run)(const ry_points_plan *plan, const ry_points_axis *axis,
                               int64_t count, const ry_points_memory *memory, void *scratch);

#endif
