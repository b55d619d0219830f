/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax as rows, or as blocks of columns: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_NORM_SOFTMAX_PLAN_H
#define RY_KERNELS_CPU_NORM_SOFTMAX_PLAN_H

#include "kernels/cpu/common/dense_lanes.h"

/* Columns of a block: their maxima and sums stay in L1, and a line of the block fills cache lines. */
enum { SOFTMAX_COLUMNS = 256 };

typedef struct softmax_plan {
    ry_lanes lanes;
    int64_t blocks; /* of columns, for each outer position; 0: by rows */
    int64_t units, units_per_task;
} softmax_plan;

bool softmax_applicable(const ry_problem *problem);
rynd_status softmax_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void softmax_initialise(const ry_query *query, void *memory); /* a softmax_plan */

#endif
