/* SPDX-License-Identifier: Apache-2.0 */
/* Reuse distances: how many bytes a run touches between a tensor's last use and the next. A training
 * step reads an activation again when most of the step has passed. */
#ifndef RY_PLAN_REUSE_H
#define RY_PLAN_REUSE_H

#include "plan/plan_builder.h"

/* Sets each step's `since`. Call when all values have their places. */
rynd_status ry_plan_find_reuse(ry_plan_builder *b, ry_error *error);

#endif
