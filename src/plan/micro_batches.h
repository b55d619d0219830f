/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a batch: runs of steps take some images through all of them before the next ones come, where
 * that keeps what they hand on in the cache. */
#ifndef RY_PLAN_MICRO_BATCHES_H
#define RY_PLAN_MICRO_BATCHES_H

#include "plan/make_steps.h"

/* Sets b->batch_splits, and makes the steps anew that get fewer images at a time. */
rynd_status ry_plan_choose_micro_batches(ry_plan_builder *b, ry_error *error);

#endif
