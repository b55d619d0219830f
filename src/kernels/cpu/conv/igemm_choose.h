/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what a query's form leaves open of the implicit GEMM's plan: by least count of cycles
 * (igemm_cost.h), over all that go together. */
#ifndef RY_KERNELS_CPU_CONV_IGEMM_CHOOSE_H
#define RY_KERNELS_CPU_CONV_IGEMM_CHOOSE_H

#include "kernels/cpu/conv/igemm_plan.h"

/* The legal values of a knob: of a plan that was begun (igemm_begin). */
void igemm_list_values(const igemm_plan *plan, ry_dtype dtype, igemm_knob knob, ry_knob_values *values);

/* The whole plan; alone: as igemm_plan_make has it. False: what the form sets does not go
 * together. */
bool igemm_choose(const ry_query *query, bool alone, igemm_plan *plan);

#endif
