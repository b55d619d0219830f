/* SPDX-License-Identifier: Apache-2.0 */
/* A plan in the making: the passes of make_plan.c read and write the builder, and nobody else sees
 * the plan before it is finished. */
#ifndef RY_PLAN_PLAN_BUILDER_H
#define RY_PLAN_PLAN_BUILDER_H

#include "plan/plan.h"
#include "predict/choices.h"
#include "predict/settings.h"

typedef struct ry_plan_builder {
    ry_plan *plan; /* its arena holds the lists below */
    const ry_plan_options *options;
    /* what the plan shows as const */
    ry_graph *graph;
    ry_step *steps;
    ry_batch_split *batch_splits;
    ry_plan_output *outputs;
    ry_plan_state *states;
    ry_node_id *node_of_step;
    ry_value_layouts layouts;
    ry_choices choices;      /* kernels chosen so far */
    ry_settings settings;    /* the caller's own choices */
    bool bound;              /* to the weight forms of the first `decisions` (weights.h) */
    uint64_t decisions;      /* decisions of the model's weight store at the start */
    uint64_t measured_steps; /* ry_plan_hash_steps of the measured plan; 0: any */
    ry_names concerned;      /* nodes for which the form changed a predicted decision */
} ry_plan_builder;

/* The node of a step. */
static inline const ry_node *ry_plan_node(const ry_plan_builder *b, size_t step)
{
    return &b->graph->nodes[b->node_of_step[step]];
}

/* Room for the steps of `count` nodes, none of them made yet. */
rynd_status ry_plan_take_steps(ry_plan_builder *b, size_t count, ry_error *error);

/* Replaces the batch splits: `count` so far, in an array that the arena holds. */
void ry_plan_set_batch_splits(ry_plan_builder *b, ry_batch_split *splits, size_t count);

#endif
