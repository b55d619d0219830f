/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes that take no time: their output is their input's memory under another description. */
#ifndef RY_PLAN_ALIASES_H
#define RY_PLAN_ALIASES_H

#include "plan/value_layouts.h"

/* Does a transpose leave each element where it is? So it is where only dims of one element change
 * places, and between channels last and [N, .., C]. */
bool ry_plan_keeps_memory(const ry_tensor *x, const ry_tensor *y, const ry_transpose_attrs *attrs);

/* Is no kernel needed: a view, or a transpose that keeps memory? */
bool ry_plan_is_alias(const ry_graph *graph, const ry_node *node, const ry_value_layouts *layouts);

#endif
