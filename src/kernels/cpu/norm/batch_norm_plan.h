/* SPDX-License-Identifier: Apache-2.0 */
/* Batch normalisation as rows: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_NORM_BATCH_NORM_PLAN_H
#define RY_KERNELS_CPU_NORM_BATCH_NORM_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

typedef struct batch_norm_plan {
    ry_lanes lanes;
    ry_cut_axis rows;
} batch_norm_plan;

bool ry_batch_norm_applicable(const ry_problem *problem);
rynd_status ry_batch_norm_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a batch_norm_plan */
void ry_batch_norm_initialise(const ry_query *query, void *state);

#endif
