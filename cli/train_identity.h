/* SPDX-License-Identifier: Apache-2.0 */
/* What decides about the bits of a run, in words "option=value": a checkpoint has them, and a run
 * that goes on from it compares. */
#ifndef CLI_TRAIN_IDENTITY_H
#define CLI_TRAIN_IDENTITY_H

#include "train_run.h"

/* Fills in run->identity: the data's words and the trainer's. */
bool cli_train_identify(cli_train_run *run, cli_failure *failure);

/* Names what differs from a checkpoint's words: an error, or, with --other-bits, a note. */
bool cli_train_check_identity(const cli_train_run *run, const char *saved, cli_failure *failure);

#endif
