/* SPDX-License-Identifier: Apache-2.0 */
/* A training run from its settings: opens everything, goes through the steps, writes what was
 * asked for. */
#ifndef CLI_TRAIN_RUN_H
#define CLI_TRAIN_RUN_H

#include "progress.h"
#include "train_epoch.h"
#include "train_loader.h"
#include "train_log.h"
#include "train_model.h"

typedef struct cli_train_run {
    const cli_train_settings *settings;
    cli_ranks ranks;
    cli_setup setup;
    void *new_head;            /* memory of the model with a new last layer; NULL: there is none */
    cli_preprocess pictures;   /* options, or the model's metadata; unset what neither gives */
    cli_preprocess preprocess; /* the same, settled */
    rynd_head head;            /* for boxes: the model's, with its preparation */
    /* the model's, and what the loss is of */
    rynd_value_info inputs[CLI_TRAIN_INPUTS], output;
    size_t input_count, output_index;
    cli_dataset data, validation;         /* kind NULL: not there */
    cli_batch_form form, validation_form; /* shape of this rank's part of a batch */
    int64_t batch;                        /* samples of a step, of all ranks */
    cli_score_rule rule;
    cli_trainee trainee;
    cli_train_log log;
    cli_progress progress;
    char *checkpoint;     /* path; NULL: none is written */
    char *identity;       /* what decides about bits: train_identity.h */
    uint64_t accumulate;  /* batches of a step */
    uint64_t step, steps; /* done; in all */
    uint64_t per_epoch;
    double begin; /* cli_now: of the first step */
    uint64_t begin_step;
    double shown;                     /* when the bar was drawn last */
    double loss;                      /* loss of the last step; NaN before the first */
    cli_score last;                   /* validation; samples 0: none yet */
    size_t broken, validation_broken; /* samples that could not be read */
    double seconds;                   /* time of all steps and of the work between them */
    bool saved, interrupted;          /* a checkpoint was written; somebody ended it */
    bool ending;                      /* a rank was asked to end */
    cli_epochs epochs;
} cli_train_run;

/* Opens model, data and trainer; nothing has run then. */
bool cli_train_open(cli_train_run *run, cli_failure *failure);
void cli_train_close(cli_train_run *run);

/* Samples of a step. */
static inline double cli_train_samples(const cli_train_run *run)
{
    return (double)run->accumulate * (double)run->batch;
}

/* The whole command. */
bool cli_train(const cli_train_settings *settings, cli_failure *failure);

/* Prints a training's memory and time before it runs. */
bool cli_train_print_forecast(cli_train_run *run, cli_failure *failure);
bool cli_train_print_result(const cli_train_run *run, cli_failure *failure);

#endif
