/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a graph in two where shapes depend on data. */
#ifndef RY_PLAN_SPLIT_H
#define RY_PLAN_SPLIT_H

#include "graph/graph.h"

/* Moves the nodes marked in later[] to a graph of their own (*rest; NULL when none is marked). The
 * head's outputs become those of the model that it computes, then the values that the rest needs;
 * the rest's inputs are the latter, by the same names, its outputs the model's others. */
rynd_status ry_plan_split(ry_graph *graph, const bool *later, ry_graph **rest, ry_error *error);

#endif
