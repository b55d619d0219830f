/* SPDX-License-Identifier: Apache-2.0 */
/* Cumulative sums and products as rows, or as blocks of columns. */
#ifndef RY_KERNELS_CPU_SEARCH_CUMSUM_PLAN_H
#define RY_KERNELS_CPU_SEARCH_CUMSUM_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

/* Columns of a block at most: with few, calls cost as much as sums, and every line of a block is in
 * another page. */
enum { CUMSUM_COLUMNS = 2048 };

bool ry_cumsum_applicable(const ry_problem *problem);
rynd_status ry_cumsum_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_cumsum_initialise(const ry_query *query, void *state); /* a ry_lane_blocks */

#endif
