/* SPDX-License-Identifier: Apache-2.0 */
/* How long a plan takes, step by step, in the network that the steps are in. */
#ifndef RY_PLAN_PLAN_TIME_H
#define RY_PLAN_PLAN_TIME_H

#include "plan/plan.h"
#include "predict/forecast.h"

/* Bytes that a run of the plan touches: what comes again in each run comes after so many. */
double ry_plan_footprint(const ry_plan *plan);

/* What a step's prediction is made from if it is prepared so, in a run that touches `footprint`
 * bytes. */
ry_parts ry_plan_step_parts(const ry_plan *plan, size_t index, const ry_prepared *prepared,
                            unsigned threads, double footprint);

/* Time of a step with all its micro-batches, on `threads` threads, within a run that touches
 * `footprint` bytes. */
ry_time ry_plan_step_time(const ry_plan *plan, size_t index, unsigned threads, double footprint);

/* The same if the step were prepared so: `other` is of its problem, and for its device. */
ry_time ry_plan_other_time(const ry_plan *plan, size_t index, const ry_prepared *other,
                           unsigned threads, double footprint);

/* Bit i: input i of a step keeps its value from run to run. */
unsigned ry_plan_step_constants(const ry_step *step);

#endif
