/* SPDX-License-Identifier: Apache-2.0 */
/* Makes a plan: clones the model's graph, binds symbols, infers, folds constants, rewrites; then
 * for each node chooses a kernel and prepares it; then cuts the batch where that saves memory
 * traffic; then gives every value a location in one arena (memory_map.h); then packs weights. */
#ifndef RY_PLAN_MAKE_PLAN_H
#define RY_PLAN_MAKE_PLAN_H

#include "plan/plan.h"

rynd_status ry_plan_create(ry_device *device, const ry_graph *graph, const ry_plan_options *options,
                           const ry_plan **plan, ry_error *error);

/* May the content of this input, which `tensor` describes, decide a shape? Lists of few numbers
 * may, and the parts of a split, as many as it has outputs. */
bool ry_plan_reads_content(const ry_graph *graph, ry_value_id input, const ry_tensor *tensor);

/* Gives the graph's inputs their sizes, and their content where it is given and may decide a shape;
 * then infers shapes. Reads the options for inputs, batch and dims only. */
rynd_status ry_plan_bind_inputs(ry_graph *graph, const ry_plan_options *options, ry_error *error);

#endif
