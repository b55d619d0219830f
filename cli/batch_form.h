/* SPDX-License-Identifier: Apache-2.0 */
/* The shapes of a batch, and the options that fill it. */
#ifndef CLI_BATCH_FORM_H
#define CLI_BATCH_FORM_H

#include "picture_layout.h"
#include "preprocess.h"
#include "train_augment.h"

#include <rynd/tasks.h>

/* What a batch is made by; borrowed. */
typedef struct cli_batch_wish {
    const cli_dataset *set;
    const rynd_value_info *inputs, *output; /* the model's, and what the loss is of */
    size_t input_count;                     /* 1 where the set has pictures */
    const cli_preprocess *preprocess;       /* settled */
    const cli_augment *augment;             /* NULL: nothing at random, as in validation */
    int64_t batch;
    int64_t class_shares; /* classes that each row of y has shares of; 0: y are class numbers */
    int64_t ignored;      /* number in masks for positions without a class; -1: none */
    const rynd_preparation *preparation; /* for boxes: of the model's head */
    int64_t boxes;                       /* rows of y for a picture; 0: no boxes */
} cli_batch_wish;

typedef struct cli_batch_form {
    cli_batch_wish wish;
    rynd_tensor x[CLI_TRAIN_INPUTS], y;    /* descriptions: data NULL */
    cli_picture_layout x_layout, y_layout; /* layouts of pictures in x and y */
    cli_extent to;                         /* the extents of a picture in x */
    bool pictures;                         /* x holds pictures */
} cli_batch_form;

#endif
