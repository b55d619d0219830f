/* SPDX-License-Identifier: Apache-2.0 */
/* What a way to cut a convolution into matrix products costs, by a count of cycles, in units of one vector's multiply-add. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_COST_H
#define RY_KERNELS_CPU_CONV_IGEMM_COST_H

#include "kernels/cpu/conv/igemm_plan.h"

/* Of the bundle that begins with `first`, whose phases' blocks and `alive` are set, in tasks of so
 * many units. */
double igemm_cost_of(const igemm_plan *plan, const igemm_phase *first, int64_t units);

/* Of the whole, whose bundles cost so much, and whose tasks are set. */
double igemm_cost_with_copy(const igemm_plan *plan, double bundles);

#endif
