/* SPDX-License-Identifier: Apache-2.0 */
/* Training on boxes: the model's head. */
#ifndef CLI_TRAIN_BOXES_H
#define CLI_TRAIN_BOXES_H

#include "train_run.h"

/* Finds the head, its preparation with what options say, and checks the classes. Does nothing for
 * data without boxes. */
bool cli_train_open_boxes(cli_train_run *run, cli_failure *failure);

#endif
