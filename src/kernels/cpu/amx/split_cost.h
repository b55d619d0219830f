/* SPDX-License-Identifier: Apache-2.0 */
/* What a convolution by tiles of split bfloat16 takes. */
#ifndef RY_KERNELS_CPU_AMX_SPLIT_COST_H
#define RY_KERNELS_CPU_AMX_SPLIT_COST_H

#include "kernels/cpu/amx/split_plan.h"

/* Operations at the machine's f32 peak that take as long as the plan, and as its packing. */
double ry_split_work(const split_plan *plan, const struct rynd_machine *machine);
double ry_split_pack_work(const split_plan *plan, const struct rynd_machine *machine);

#endif
