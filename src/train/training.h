/* SPDX-License-Identifier: Apache-2.0 */
/* From a model's graph to one of a step of training: forward, loss, backward, update.
 *
 *   ry_training_open        before sizes are bound and constants folded: which constants are
 *                           parameters, which from then on are no constants
 *   ry_training_make_step   a graph of one step: parameters, moments and running statistics are
 *                           its states
 *   ry_training_make_loss   a graph of the loss alone, as in inference, of the same values
 *   ry_training_make_update where a step sums up gradients: a graph of the update
 *
 * Both are made of copies of the same bound graph, in which ids mean the same. */
#ifndef RY_TRAIN_TRAINING_H
#define RY_TRAIN_TRAINING_H

#include "graph/graph.h"
#include "train/exchanged.h"
#include "train/optimizer.h"
#include "train/training_loss.h"

/* What parameters are at first: train/initial.h. */
typedef enum ry_init { RY_INIT_model, RY_INIT_he, RY_INIT_uniform } ry_init;

typedef struct ry_training_options {
    ry_loss_options loss;
    ry_optimizer_options optimizer;
    const char *output;        /* that the loss is of; NULL: the first */
    double clip_norm;          /* 0: gradients are as large as they are */
    double norm_momentum;      /* the batch's part in running statistics; 0: the node's own */
    const char *const *freeze; /* patterns of names, with * and ?: what matches stays as it is */
    size_t freeze_count;
    const char *const *train_only; /* likewise: all others stay as they are */
    size_t train_only_count;
    int64_t train_last;  /* layers with weights, from the output; 0: all. Both: what either names */
    bool keep_gradients; /* as outputs */
    /* micro-batches of an update; above 1 a step changes running statistics and sums of gradients
     * only, which are of the mean over all micro-batches, and parameters are inputs of it */
    int64_t accumulate;
    ry_init init;
    uint64_t init_seed;
    bool no_dropout;
    uint64_t dropout_seed;
    bool store_bf16; /* what the backward pass reads of the forward pass */
    int ranks; /* that the step is shared among, each with its part of the batch; 0: there is no
                * exchange */
} ry_training_options;

/* A parameter, or a running statistic. */
typedef struct ry_training_parameter {
    const char *name;
    ry_value_id value;
    const void *content; /* the model's */
    const void *initial; /* the same, or a fresh one */
    bool statistic;
    /* index among the states of the graph that changes the parameter: the update's with
     * accumulation, if it is no statistic, else the step's */
    uint32_t state;
    uint32_t input;    /* with accumulation: index among the step's inputs */
    uint32_t sum;      /* index of its sum of gradients among the step's states; UINT32_MAX: none */
    uint32_t gradient; /* among the outputs of the graph that changes it; UINT32_MAX: not kept */
    ry_value_id next;  /* next content on this rank of an exchanged statistic */
} ry_training_parameter;

/* What running a trainer needs to know of its graphs; const once the graphs are made. Output 0 of
 * the step's graph and of the loss' is the loss, then follow the model's outputs. */
typedef struct ry_training {
    ry_training_loss loss;
    size_t count, opened; /* parameters; those from `count` to `opened` stay constants */
    const ry_training_parameter *parameters; /* in the order of the model's constants */
    /* name of the step's input that follows the target. Where
     * gradients are summed up, "train/more" replaces the rate: 0 for the first micro-batch */
    const char *rate;
    /* values of a step that ranks exchange, in order: gradients, running statistics, the loss.
     * Where gradients are summed up the update exchanges them instead: exchanged_sums */
    ry_exchanged_list exchanged, exchanged_sums;
} ry_training;

/* A training in the making. */
typedef struct ry_training_builder {
    ry_training_options options; /* borrowed names and patterns */
    ry_training *training;
    ry_training_parameter *parameters; /* what the training shows as const */
} ry_training_builder;

/* `graph` is a copy of a model's, sorted here; lists live in the arena. Fails where there is
 * nothing to train, or a pattern matches nothing. */
rynd_status ry_training_open(ry_graph *graph, const ry_training_options *options, ry_arena *arena,
                             ry_training_builder *builder, ry_error *error);

/* `graph`: a copy of the graph that was opened and then bound, folded and inferred. Fills in the
 * states' places, and drops parameters that no gradient reaches: they are constants again. */
rynd_status ry_training_make_step(ry_graph *graph, ry_training_builder *builder, ry_error *error);

/* Does a step sum up gradients, and leave parameters as they are? */
static inline bool ry_training_accumulates(const ry_training_options *options)
{
    return options->accumulate > 1;
}

/* Where a step sums up gradients: a graph of the update alone. Its inputs are the learning rate,
 * then the sums of the parameters that have one, in their order, then its states: parameters and
 * moments, with an exchange the sums over ranks. With keep_gradients the means are its outputs,
 * too. `model`: what the step's graph is a
 * copy of. */
rynd_status ry_training_make_update(const ry_graph *model, ry_training_builder *builder,
                                    ry_graph **graph, ry_error *error);

/* The same as ry_training_make_step, of a further copy, after that; parameters are inputs,
 * behind those of the model and the target, in their order. */
rynd_status ry_training_make_loss(ry_graph *graph, const ry_training *training, ry_error *error);

#endif
