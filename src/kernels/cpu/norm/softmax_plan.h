/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax as rows, or as blocks of columns: what its kernels of every instruction set share. */
#ifndef RY_KERNELS_CPU_NORM_SOFTMAX_PLAN_H
#define RY_KERNELS_CPU_NORM_SOFTMAX_PLAN_H

#include "kernels/cpu/parts/dense_lanes.h"

bool ry_softmax_applicable(const ry_problem *problem);
rynd_status ry_softmax_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
void ry_softmax_initialise(const ry_query *query, void *state); /* a ry_lane_blocks */

#endif
