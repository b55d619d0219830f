/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of pictures with boxes: prepared as `rynd run --task detect` prepares them. */
#ifndef CLI_TRAIN_BATCH_BOXES_H
#define CLI_TRAIN_BATCH_BOXES_H

#include "batch_form.h"

/* Shapes: x of the model's input, open sides by --size or 640; y f32 [batch, boxes, 5]. */
bool cli_boxes_form(cli_batch_form *form, const cli_sample *sample, cli_failure *failure);

/* Augments the picture with its boxes, fits it into place `at` of x, and writes the boxes in the
 * input's pixels into y: class, left, top, right, bottom; further rows have the class -1. */
bool cli_boxes_put(const cli_batch_form *form, const cli_draw *draw, cli_sample *sample,
                   const rynd_tensor *x, const rynd_tensor *y, int64_t at, cli_failure *failure);

#endif
