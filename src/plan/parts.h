/* SPDX-License-Identifier: Apache-2.0 */
/* Plans of two parts: the first computes the graph's first outputs (ry_graph.first_outputs), the
 * second all others. A session may stop between them. */
#ifndef RY_PLAN_PARTS_H
#define RY_PLAN_PARTS_H

#include "plan/plan_builder.h"

/* Sets the number of steps of the first part. Call when steps are made. */
void ry_plan_find_parts(ry_plan_builder *b);

/* Notes the inputs and outputs that each part reads. Call when values have their places. */
rynd_status ry_plan_find_part_reads(ry_plan_builder *b, ry_error *error);

#endif
