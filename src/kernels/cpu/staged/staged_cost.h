/* SPDX-License-Identifier: Apache-2.0 */
/* What a staged convolution counts. */
#ifndef RY_KERNELS_CPU_STAGED_STAGED_COST_H
#define RY_KERNELS_CPU_STAGED_STAGED_COST_H

#include "kernels/cpu/staged/staged_plan.h"

/* Work of a form and its tasks in vector multiply-adds, on one core. */
ry_work ry_staged_work(const ry_query *query, const staged_plan *plan);

#endif
