/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution by tiles of split bfloat16 takes. */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_COST_H
#define RY_KERNELS_CPU_AMX_SPLIT_COST_H

#include "kernels/cpu/amx/split_plan.h"

/* Operations at the machine's f32 peak that take as long as the plan's phases, its copies and its
 * products, and as its packing. */
void ry_split_count(const split_plan *plan, const struct rynd_machine *machine, ry_work work[2]);
double ry_split_pack_work(const split_plan *plan, const struct rynd_machine *machine);

#endif
