/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan: clones the model's graph, binds symbols, infers, folds constants, rewrites; then
 * for each node chooses a kernel and prepares it; then cuts the batch where that saves memory
 * traffic; then gives every value a spot in one arena (memory_map.h); then packs weights. */
#ifndef RY_PLAN_MAKE_PLAN_H
#define RY_PLAN_MAKE_PLAN_H

#include "plan/plan.h"

rynd_status ry_plan_create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                           ry_plan **plan, ry_error *error);

/* Gives the graph's inputs their sizes, and their content where it is given and small enough to
 * decide a shape; then shapes are inferred. Of the options those of inputs, batch and dims count.
 */
rynd_status ry_plan_bind_inputs(ry_graph *graph, const ry_plan_options *options, ry_error *error);

#endif
