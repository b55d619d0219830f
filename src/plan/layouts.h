/* SPDX-License-Identifier: Apache-2.0 */
/* Chooses how the tensors between a network's nodes are in memory. */
#ifndef RY_PLAN_LAYOUTS_H
#define RY_PLAN_LAYOUTS_H

#include "plan/plan.h"

/* Sets plan->layouts, for each value of plan->graph, and puts copies into the graph where two
 * layouts meet and no kernel bridges them cheaper. Inputs lie as plan->inputs says; outputs,
 * constants, views and values without channels (channels.h) stay row-major. The choice is the least
 * predicted time of all labellings of nodes and values with one of two layouts. */
rynd_status ry_plan_choose_layouts(ry_plan *plan, ry_accuracy accuracy, ry_error *error);

#endif
