/* SPDX-License-Identifier: Apache-2.0 */
/* What resizes, and their gradients, cost, in operations at a core's peak. */
#ifndef RY_KERNELS_CPU_SAMPLE_RESIZE_COST_H
#define RY_KERNELS_CPU_SAMPLE_RESIZE_COST_H

#include "kernels/cpu/sample/resize_tables.h"

/* All output rows. */
double ry_resize_work(const ry_query *query, const resize_plan *s);

/* The first phase: positions and weights of the tables in the workspace. */
double ry_resize_filling_work(const ry_query *query, const resize_plan *s);

#endif
