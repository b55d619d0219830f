/* SPDX-License-Identifier: Apache-2.0 */
/* Which resizes the vector kernels take, and their cost. */
#ifndef RY_KERNELS_CPU_SAMPLE_RESIZE_PLAN_H
#define RY_KERNELS_CPU_SAMPLE_RESIZE_PLAN_H

#include "kernels/cpu/sample/resize_tables.h"

bool ry_resize_applicable(const ry_problem *problem);
rynd_status ry_resize_prepare(const ry_query *query, ry_prepared *prepared, ry_error *error);
/* state: a resize_plan, room for transposing an axis, then the tables */
void ry_resize_initialise(const ry_query *query, void *state);

#endif
