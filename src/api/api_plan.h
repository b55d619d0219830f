/* SPDX-License-Identifier: Apache-2.0 */
/* Making plans, and describing their steps. */
#ifndef RY_API_API_PLAN_H
#define RY_API_API_PLAN_H

#include "graph/graph_names.h"
#include "graph/infer.h"
#include "kernels/prepared.h"
#include "plan/plan.h"
#include "predict/advice.h"

#include <rynd/rynd.h>

/* Finds the index of a name; kind: "input" or "output". NOT_FOUND names both. */
rynd_status ry_api_find_name(const ry_names *names, const char *kind, const char *name,
                             size_t *index, ry_error *error);

/* Copies a caller's dims into the arena. `what` names the options in messages. */
rynd_status ry_api_take_dims(const rynd_dim *given, size_t count, const char *what, ry_arena *arena,
                             const ry_dim_binding **dims, ry_error *error);

/* rynd_plan_create with an adviser, which must outlive the plan; NULL: no adviser. Sets *plan on
 * success only. */
rynd_status ry_api_plan_create(const rynd_model *model, const rynd_plan_options *options,
                               const ry_adviser *adviser, rynd_plan **plan, ry_error *error);

/* A limit of memory, as ry_plan_options have it. */
typedef struct ry_api_memory {
    size_t limit, beside; /* limit 0: none */
    size_t *least;
} ry_api_memory;

rynd_status ry_api_plan_create_within(const rynd_model *model, const rynd_plan_options *options,
                                      const ry_adviser *adviser, ry_api_memory memory,
                                      rynd_plan **plan, ry_error *error);

/* The plan of a graph that is no model's, which may go as soon as the plan is made. Sets *plan on
 * success only. */
rynd_status ry_api_plan_graph(rynd_context *context, const ry_graph *graph,
                              const ry_plan_options *options, rynd_plan **plan, ry_error *error);

/* Describes a prepared problem as `rynd plan` prints it; texts go into the arena. */
rynd_status ry_api_describe(const ry_prepared *prepared, ry_arena *arena, rynd_step_info *info,
                            ry_error *error);

#endif
