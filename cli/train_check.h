/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a training run's data, model and options fit each other. */
#ifndef CLI_TRAIN_CHECK_H
#define CLI_TRAIN_CHECK_H

#include "train_run.h"

/* Chooses the run's loss, by --loss or by the data, and checks the classes of both data sets. */
bool cli_train_settle_loss(cli_train_run *run, cli_failure *failure);
/* What is at random must have something to work on, and know to what size. */
bool cli_train_check_augment(const cli_train_run *run, cli_failure *failure);

#endif
