/* SPDX-License-Identifier: Apache-2.0 */
/* What a batch looks like, by the model's input and the data, and samples put into it. */
#ifndef CLI_TRAIN_BATCH_H
#define CLI_TRAIN_BATCH_H

#include "batch_form.h"

/* Shapes of x and y of `batch` samples. Open extents of the input are those of --crop, of --size,
 * or of the first sample that can be read. Where samples have labels y is i64 [batch], or f32
 * [batch, class_shares]; masks make i64 [batch, height, width], boxes f32 [batch, boxes, 5]. */
bool cli_batch_form_of(const cli_batch_wish *wish, cli_batch_form *form, cli_failure *failure);

/* Augments, preprocesses and puts a sample into place `at` of x, a tensor an input, and y; `sample`
 * is used up, not freed. A failure is for the user to repair: the sample does not fit the model.
 * Any thread, for different places. */
bool cli_batch_put(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                   const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure);

#endif
