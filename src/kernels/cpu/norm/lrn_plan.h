/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation as rows, or as blocks of columns. */
#ifndef RY_KERNELS_CPU_NORM_LRN_PLAN_H
#define RY_KERNELS_CPU_NORM_LRN_PLAN_H

#include "kernels/cpu/common/dense_lanes.h"

/* Columns of a block: their sums stay in L1. */
enum { LRN_COLUMNS = 256 };

typedef struct lrn_plan {
    ry_lanes lanes;
    int64_t blocks; /* of positions, for each outer position; 0: by rows of channels */
    int64_t units, units_per_task;
} lrn_plan;

bool lrn_applicable(const ry_problem *problem);
rynd_status lrn_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a lrn_plan */
void lrn_initialise(const ry_query *query, void *state);

#endif
