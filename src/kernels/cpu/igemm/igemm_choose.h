/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses what a query's form leaves open of the implicit GEMM's plan: by least count of cycles
 * (igemm_cost.h), over all that go together. */
#ifndef RY_KERNELS_CPU_IGEMM_IGEMM_CHOOSE_H
#define RY_KERNELS_CPU_IGEMM_IGEMM_CHOOSE_H

#include "kernels/cpu/igemm/igemm_plan.h"

/* The legal values of a knob. Begins the plan. */
void ry_igemm_list_values(const ry_query *query, igemm_knob knob, igemm_plan *plan,
                          ry_knob_values *values);

/* The whole plan; alone: as ry_igemm_plan_make has it. False: what the form sets does not go
 * together. */
bool ry_igemm_choose(const ry_query *query, bool alone, igemm_plan *plan);

#endif
