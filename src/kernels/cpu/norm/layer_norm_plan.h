/* SPDX-License-Identifier: Apache-2.0 */
/* Layer normalisation as rows: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_NORM_LAYER_NORM_PLAN_H
#define RY_KERNELS_CPU_NORM_LAYER_NORM_PLAN_H

#include "kernels/common/task_cut.h"
#include "kernels/kernel.h"

/* Longer rows are summed in parts. At most LAYER_NORM_SHORT / RY_W numbers are added in f32 one
 * after another. */
enum { LAYER_NORM_SHORT = 1024 };

typedef struct layer_norm_plan {
    int64_t length;
    ry_cut_axis rows;
} layer_norm_plan;

bool ry_layer_norm_applicable(const ry_problem *problem);
rynd_status ry_layer_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_layer_norm_initialise(const ry_query *query, void *memory); /* a layer_norm_plan */

#endif
