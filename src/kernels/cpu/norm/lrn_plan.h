/* SPDX-License-Identifier: Apache-2.0 */
/* Local response normalisation as rows, or as blocks of columns. */
#ifndef RY_KERNELS_CPU_NORM_LRN_PLAN_H
#define RY_KERNELS_CPU_NORM_LRN_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

bool ry_lrn_applicable(const ry_problem *problem);
rynd_status ry_lrn_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_lrn_initialise(const ry_query *query, void *state); /* a ry_lane_blocks */

#endif
