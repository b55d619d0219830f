/* SPDX-License-Identifier: Apache-2.0 */
/* What training drops: nodes whose `drop` says a part, which in inference do nothing, or what the
 * model's file says. Both of a trainer's graphs have identities in their place; that of a step then
 * gets dropouts. */
#ifndef RY_TRAIN_DROPOUT_NODES_H
#define RY_TRAIN_DROPOUT_NODES_H

#include "graph/graph.h"

/* Dropouts of a model have these streams, in the order of their nodes: "drop" in ASCII, and up. */
#define RY_DROP_STREAM UINT32_C(0x64726f70)

/* Identities of what is dropped of, in a graph that is not bound yet. keep: what is dropped is
 * still known behind it; else nothing is dropped from here on. Fails where a part is not from 0 to
 * below 1. */
rynd_status ry_training_open_drops(ry_graph *graph, bool keep, ry_error *error);

/* Dropouts in their place, by the seed and the number of steps, a scalar of f64. */
rynd_status ry_training_add_drops(ry_graph *graph, uint64_t seed, ry_value_id step,
                                  ry_error *error);

#endif
