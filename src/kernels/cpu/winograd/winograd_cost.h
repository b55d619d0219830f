/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution in Winograd's form costs, by a count of cycles, in units of one vector's
 * multiply-add. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_COST_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_COST_H

#include "kernels/cpu/winograd/winograd_plan.h"

/* Counts the work of each phase, from the plan's points, block, oc blocks and sharing. */
void ry_winograd_count(const winograd_plan *plan, ry_work work[2]);

/* Cost summed over all cores, idle cores included. */
double ry_winograd_cost(const winograd_plan *plan);

/* Cost of packing the plan's weights. */
double ry_winograd_pack_cost(const winograd_plan *plan);

/* Operations on numbers that the plan does. */
double ry_winograd_flop(const winograd_plan *plan);

#endif
