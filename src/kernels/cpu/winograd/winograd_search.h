/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a convolution in Winograd's form, and the one that costs least. */
#ifndef RY_KERNELS_CPU_WINOGRAD_WINOGRAD_SEARCH_H
#define RY_KERNELS_CPU_WINOGRAD_WINOGRAD_SEARCH_H

#include "kernels/cpu/winograd/winograd_plan.h"

/* The legal values of a knob; of tiles: for the points that the query's form has, or may have. */
void ry_winograd_values(const ry_query *query, int knob, ry_knob_values *values);

/* The plan of least cost that the form allows, without tables; false: nothing goes together. */
bool ry_winograd_plan_choose(const ry_query *query, winograd_plan *plan);

#endif
