/* SPDX-License-Identifier: Apache-2.0 */
/* argmax and argmin as rows, or as blocks of columns. */
#ifndef RY_KERNELS_CPU_SEARCH_ARG_REDUCE_PLAN_H
#define RY_KERNELS_CPU_SEARCH_ARG_REDUCE_PLAN_H

#include "kernels/cpu/common/dense_lanes.h"

/* Columns of a block: their best and its position stay in L1. */
enum { ARG_REDUCE_COLUMNS = 256 };

typedef struct arg_reduce_plan {
    ry_lanes lanes;
    int64_t blocks; /* of columns, for each outer position; 0: by rows */
    int64_t units, units_per_task;
} arg_reduce_plan;

bool arg_reduce_applicable(const ry_problem *problem);
rynd_status arg_reduce_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a arg_reduce_plan */
void arg_reduce_initialise(const ry_query *query, void *state);

#endif
