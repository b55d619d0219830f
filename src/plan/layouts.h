/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how the tensors between a network's nodes are in memory. */
#ifndef RY_PLAN_LAYOUTS_H
#define RY_PLAN_LAYOUTS_H

#include "plan/plan_builder.h"

/* Sets b->layouts for each value of b->graph, and adds copies where two layouts meet and no kernel
 * bridges them cheaper. Inputs lie as the plan's inputs say; outputs, constants, views and values
 * without channels (channels.h) stay row-major. Minimises the predicted time over all labellings of
 * nodes and values with one of two layouts. */
rynd_status ry_plan_choose_layouts(ry_plan_builder *b, ry_error *error);

#endif
