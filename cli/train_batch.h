/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch looks like, by the model's input and the data, and samples put into it. */
#ifndef CLI_TRAIN_BATCH_H
#define CLI_TRAIN_BATCH_H

#include "picture_layout.h"
#include "preprocess.h"
#include "train_augment.h"

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
} cli_batch_wish;

typedef struct cli_batch_form {
    cli_batch_wish wish;
    rynd_tensor x[CLI_TRAIN_INPUTS], y;    /* descriptions: data NULL */
    cli_picture_layout x_layout, y_layout; /* layouts of pictures in x and y */
    cli_extent to;                         /* the extents of a picture in x */
    bool pictures;                         /* x holds pictures */
} cli_batch_form;

/* Shapes of x and y of `batch` samples. Open extents of the input are those of --crop, of --size,
 * or of the first sample that can be read. Where samples have labels y is i64 [batch], or f32
 * [batch, class_shares]; masks make i64 [batch, height, width]. */
bool cli_batch_form_of(const cli_batch_wish *wish, cli_batch_form *form, cli_failure *failure);

/* Augments, preprocesses and puts a sample into place `at` of x, a tensor an input, and y; `sample`
 * is used up, not freed. A failure is for the user to repair: the sample does not fit the model.
 * Any thread, for different places. */
bool cli_batch_put(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                   const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure);

#endif
