/* SPDX-License-Identifier: Apache-2.0 */
/* Dropouts of dense float32 tensors, and fills of dense tensors, cut into tasks of whole groups of
 * elements. */
#ifndef RY_KERNELS_CPU_RANDOM_DROPOUT_PLAN_H
#define RY_KERNELS_CPU_RANDOM_DROPOUT_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* Elements whose numbers are made side by side (simd/philox_lanes.h). */
enum { RY_DROPOUT_GROUP = 64 };

typedef struct ry_dropout_plan {
    ry_cut_axis elements; /* tasks take whole groups */
} ry_dropout_plan;

bool ry_dropout_applicable(const ry_problem *problem);
/* Fills of float32, and of bernoulli in bool. */
bool ry_fill_applicable(const ry_problem *problem);
rynd_status ry_dropout_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_dropout_initialise(const ry_query *query, void *state); /* a ry_dropout_plan */

#endif
