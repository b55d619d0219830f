/* SPDX-License-Identifier: Apache-2.0 */
/* Mixed precision: what the backward pass reads of the forward pass is kept as bfloat16.
 *
 * A value of the model is rounded to bfloat16 right behind what makes it, and is float32 once more
 * right before each node of the backward pass that reads it, so that of the time between only the
 * rounded one has memory. The forward pass itself, parameters, gradients, what the optimizer keeps
 * and all sums are float32. */
#ifndef RY_TRAIN_STORAGE_H
#define RY_TRAIN_STORAGE_H

#include "graph/graph.h"

/* Which part of a graph is what. */
typedef struct ry_storage_parts {
    size_t values;                /* the first ones, which are the model's */
    size_t inputs;                /* the first inputs of the graph, which are the model's */
    size_t forward;               /* nodes, the first ones; all others are the backward pass */
    const ry_value_id *parameter; /* not activations, nor is what is made of them alone */
    size_t parameter_count;
} ry_storage_parts;

/* A graph of a step, inferred, its forward pass sorted; it is compacted. What stays as it is:
 * values of other types; what is less than 64 KiB; outputs of the graph; statistics of
 * normalisations, and values of the loss; what has memory without any of this (inputs and their
 * views); and what is compared with a number that rounding might take it across: a greatest or
 * least element, and a bound that is no bfloat16. */
rynd_status ry_training_store_bf16(ry_graph *graph, const ry_storage_parts *parts, ry_error *error);

#endif
