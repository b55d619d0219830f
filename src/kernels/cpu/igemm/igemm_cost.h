/* SPDX-License-Identifier: Apache-2.0 */
/* What a way to cut a convolution into matrix products costs, by a count of cycles, in units of one
 * vector's multiply-add. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_COST_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_COST_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* Adds the fused group that begins with `first`, whose phases' blocks and `in_bounds` are set, in tasks
 * of so many oc blocks. */
void ry_igemm_count_fused(const igemm_plan *plan, const igemm_phase *first, int64_t oc_blocks,
                          igemm_count *count);

/* Cycles of all cores, idle cores included. Call after all fused groups are counted. Adds the phase that
 * copies x. */
double ry_igemm_cost_of(const igemm_plan *plan, igemm_count *count);

#endif
