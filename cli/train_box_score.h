/* SPDX-License-Identifier: Apache-2.0 */
/* Validation on boxes: loss and mAP. */
#ifndef CLI_TRAIN_BOX_SCORE_H
#define CLI_TRAIN_BOX_SCORE_H

#include "train_loader.h"
#include "train_score.h"

/* What is validated; borrowed. */
typedef struct cli_box_judge {
    rynd_context *context;
    rynd_trainer *trainer;
    const rynd_head *head;
    cli_extent input; /* sides of the model's input */
    int64_t classes;
} cli_box_judge;

/* Goes through the batches of a loader: loss, mAP at overlaps of 0.5 to 0.95, and at 0.5. */
bool cli_train_score_boxes(const cli_box_judge *judge, cli_loader *loader, cli_score *score,
                           cli_failure *failure);

#endif
