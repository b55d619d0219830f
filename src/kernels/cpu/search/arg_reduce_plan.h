/* SPDX-License-Identifier: Apache-2.0 */
/* argmax and argmin as rows, or as blocks of columns. */
#ifndef RY_KERNELS_CPU_SEARCH_ARG_REDUCE_PLAN_H
#define RY_KERNELS_CPU_SEARCH_ARG_REDUCE_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

/* Rows up to this length become columns of a tile, if a task has so many of them. */
enum { ARG_SHORT_ROW = 128, ARG_LEAST_ROWS = 16 };

/* Positions of columns are int32_t within a slice of an axis, and int64_t from slice to slice. */
#define ARG_SLICE (INT64_C(1) << 16)

bool ry_arg_reduce_applicable(const ry_problem *problem);
rynd_status ry_arg_reduce_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_arg_reduce_initialise(const ry_query *query, void *state); /* a ry_lane_blocks */

#endif
