/* SPDX-License-Identifier: Apache-2.0 */
/* Models of a part of another model's graph. */
#ifndef RY_API_API_PART_H
#define RY_API_API_PART_H

#include "graph/infer.h"

#include <rynd/rynd.h>

/* Copies a model's graph with its inputs' shapes bound; fold: also folds constants and sorts.
 * *later (may be NULL): some shapes depend on data. */
rynd_status ry_api_bound_graph(const rynd_model *model, const ry_dim_binding *dims,
                               size_t dim_count, int64_t batch, bool fold, ry_graph **graph,
                               bool *later, ry_error *error);

/* Folds constants of a bound graph, and sorts it. *later (may be NULL): some shapes depend on data.
 */
rynd_status ry_api_fold_graph(const rynd_model *model, ry_graph *graph, bool *later,
                              ry_error *error);

/* Makes a model of a graph derived from `model`; takes the graph over, also on failure. */
rynd_status ry_api_part_of(const rynd_model *model, rynd_context *context, ry_graph *graph,
                           rynd_model **part, ry_error *error);

#endif
