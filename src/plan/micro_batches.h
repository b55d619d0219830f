/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a batch: runs of steps take some images through all of them before the next ones come, where
 * that keeps what they hand on in the cache. */
#ifndef RY_PLAN_MICRO_BATCHES_H
#define RY_PLAN_MICRO_BATCHES_H

#include "plan/make_steps.h"

/* Sets plan->batch_splits, and makes the steps anew that get fewer images at a time. */
rynd_status ry_plan_choose_micro_batches(ry_plan *plan, ry_accuracy accuracy,
                                         const ry_node_id *node_of_step, ry_error *error);

#endif
