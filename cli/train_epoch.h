/* SPDX-License-Identifier: Apache-2.0 */
/* After an epoch: the best weights are written, --patience may end the run, and a line says how it
 * went. */
#ifndef CLI_TRAIN_EPOCH_H
#define CLI_TRAIN_EPOCH_H

#include "train_log.h"

typedef struct cli_train_run cli_train_run;

#define CLI_KEEPS "best|last|both"

typedef struct cli_epochs {
    char *best_path;         /* model of the best epoch; NULL: none is written. Owned */
    bool last_too;           /* the last epoch's model is written, too */
    cli_log_validation best; /* samples 0: no validation yet */
    uint64_t since;          /* validations after the best one */
    double loss;             /* sum over the epoch's steps so far */
    uint64_t steps;          /* their number */
    double said;             /* cli_now of the last line */
} cli_epochs;

/* Checks --keep and --patience, and names the best model's file: OUT.onnx gives OUT-best.onnx. */
bool cli_epochs_open(cli_train_run *run, cli_failure *failure);
void cli_epochs_close(cli_train_run *run);

/* Takes up a validation. Writes the model if it is the best so far. Sets run->stopped after
 * --patience validations without a better one. */
bool cli_epochs_judge(cli_train_run *run, const cli_log_validation *validation,
                      cli_failure *failure);

/* A line on standard error: at the end of an epoch, and where no bar is shown each half minute. */
void cli_epochs_say(cli_train_run *run, bool epoch);

/* The best validation as words of a checkpoint, and back; text of another kind changes nothing. */
enum { CLI_EPOCHS_WORDS = 256 };
void cli_epochs_write(const cli_epochs *epochs, char text[CLI_EPOCHS_WORDS]);
void cli_epochs_read(cli_epochs *epochs, const char *text);

#endif
