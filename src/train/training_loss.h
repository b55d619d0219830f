/* SPDX-License-Identifier: Apache-2.0 */
/* Adds the loss to a graph of training. */
#ifndef RY_TRAIN_TRAINING_LOSS_H
#define RY_TRAIN_TRAINING_LOSS_H

#include "train/loss.h"

enum { RY_MOST_HELD = 6 };

/* What the loss compares. */
typedef struct ry_training_loss {
    ry_loss_options options;
    ry_value_id *outputs; /* the model's outputs that the loss reads, in the model's order */
    size_t output_count;
    int64_t classes;    /* for detection: classes of objects */
    const char *target; /* name of the input for the target */
} ry_training_loss;

typedef struct ry_loss_nodes {
    ry_value_id loss;               /* a scalar */
    ry_value_id held[RY_MOST_HELD]; /* no gradient passes through them */
    size_t held_count;
} ry_loss_nodes;

/* Keeps only the outputs that the loss reads: for detection those of the head, which it names. The
 * graph is bound, and its outputs are all of the loss's. */
rynd_status ry_training_settle_outputs(const ry_graph *graph, ry_training_loss *loss,
                                       ry_error *error);

/* Adds the target as an input, and the loss. The graph's outputs are then the loss and the outputs
 * that it reads; nodes that lead to others are gone. */
rynd_status ry_training_add_loss(ry_graph *graph, const ry_training_loss *loss,
                                 ry_loss_nodes *nodes, ry_error *error);

/* Adds an input of the graph. */
rynd_status ry_training_add_input(ry_graph *graph, const char *name, ry_dtype dtype,
                                  const ry_shape *shape, ry_value_id *value, ry_error *error);

#endif
