/* SPDX-License-Identifier: Apache-2.0 */
/* Top-k as lanes along its axis. */
#ifndef RY_KERNELS_CPU_SEARCH_TOPK_PLAN_H
#define RY_KERNELS_CPU_SEARCH_TOPK_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

typedef struct ry_topk_plan {
    ry_lanes lanes;
    int64_t k;
    ry_cut_axis units;
} ry_topk_plan;

bool ry_topk_applicable(const ry_problem *problem);
/* scratch: k keys of at most 16 bytes */
rynd_status ry_topk_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_topk_initialise(const ry_query *query, void *state); /* a ry_topk_plan */

#endif
