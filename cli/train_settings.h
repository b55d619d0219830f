/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of `rynd train`, shared by its parts. */
#ifndef CLI_TRAIN_SETTINGS_H
#define CLI_TRAIN_SETTINGS_H

#include "preprocess.h"
#include "train_augment.h"
#include "train_schedule.h"

typedef struct cli_train_settings {
    cli_common common;
    const char *data, *validate;
    const char *loss_of; /* an output; NULL: the first */
    int64_t factor;      /* pairs without small pictures: downscaling factor; 0: not given */
    /* what is learnt: 1 + index into the choices, 0: not given */
    int loss, optimizer, init, dropout, storage;
    int64_t ignore_label; /* -1: not given */
    double momentum, weight_decay, label_smoothing, epsilon, clip;
    bool nesterov;
    int64_t accumulate; /* batches of a step; 0: not given */
    const char *memory_limit;
    cli_list freeze, train_only;
    int64_t train_last;   /* layers; 0: not given */
    const char *new_head; /* classes, or auto; NULL: not given */
    const char *head;     /* the detector's; NULL: recognised */
    double box_weight;    /* 0: not given */
    cli_schedule schedule;
    /* how long */
    int64_t epochs, steps, patience; /* 0: not given */
    int64_t seed;
    bool ordered; /* --no-shuffle */
    /* pictures */
    cli_preprocess preprocess;
    cli_augment augment;
    /* files */
    const char *output, *checkpoint, *resume, *log, *plot;
    const char *board; /* --tensorboard: a folder */
    int keep;          /* 1 + index into CLI_KEEPS; 0: not given */
    int64_t every;     /* steps between checkpoints; 0: an epoch */
    bool other_bits;   /* a checkpoint of other options will do */
    bool dry_run;
} cli_train_settings;

#endif
