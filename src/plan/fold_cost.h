/* SPDX-License-Identifier: Apache-2.0 */
/* What folding a node would take, and how much of that a graph may spend: a small file must not
 * become much memory, nor minutes of work, before it runs. */
#ifndef RY_PLAN_FOLD_COST_H
#define RY_PLAN_FOLD_COST_H

#include "graph/graph.h"

/* Sets what folding and rewrites may spend, in proportion to the graph's constants; an allowance
 * that is set stays. */
void ry_plan_give_allowance(ry_graph *graph);

/* Whether a node of constants, whose outputs have known shapes, is worth folding and can be
 * afforded: then it is paid for. */
bool ry_plan_affords_fold(ry_graph *graph, const ry_node *node);

#endif
