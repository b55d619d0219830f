/* SPDX-License-Identifier: Apache-2.0 */
/* After an epoch: the best weights are written, --patience may end the run, and a line says how it
 * went. */
#ifndef CLI_TRAIN_EPOCH_H
#define CLI_TRAIN_EPOCH_H

#include "progress.h"
#include "train_log.h"
#include "train_model.h"

#define CLI_KEEPS "best|last|both"

typedef struct cli_epochs {
    const cli_train_settings *settings;
    const cli_trainee *trainee;
    cli_progress *progress;
    bool first_rank;         /* only this one writes and prints */
    bool stopped;            /* by --patience */
    char *best_path;         /* model of the best epoch; NULL: none is written. Owned */
    bool last_too;           /* the last epoch's model is written, too */
    cli_log_validation best; /* samples 0: no validation yet */
    cli_log_validation last; /* likewise */
    uint64_t since;          /* validations after the best one */
    double loss;             /* sum over the epoch's steps so far */
    uint64_t steps;          /* their number */
    double said;             /* cli_now of the last line */
} cli_epochs;

/* The fields above are the caller's. Checks --keep and --patience, and names the best model's file:
 * OUT.onnx gives OUT-best.onnx. */
bool cli_epochs_open(cli_epochs *epochs, cli_failure *failure);
void cli_epochs_close(cli_epochs *epochs);

/* Takes up a validation. Writes the model if it is the best so far. Sets `stopped` after --patience
 * validations without a better one. */
bool cli_epochs_judge(cli_epochs *epochs, const cli_log_validation *validation,
                      cli_failure *failure);

/* Where the run is. */
typedef struct cli_epoch_place {
    uint64_t step, steps, per_epoch;
    bool end;       /* an epoch ends */
    bool validated; /* at this step */
    double speed;   /* samples a second */
    double now;     /* cli_now */
} cli_epoch_place;

/* ", 91.60% right", ", mAP50 71.20%, mAP 43.10%", or nothing. */
enum { CLI_RIGHT_TEXT = 64 };
void cli_epochs_right(const cli_log_validation *row, char text[CLI_RIGHT_TEXT]);

/* Adds a step's loss. */
void cli_epochs_add(cli_epochs *epochs, double loss);
/* A line on standard error: at the end of an epoch, and where no bar is shown each half minute. */
void cli_epochs_say(cli_epochs *epochs, const cli_epoch_place *place);

/* The best validation as words of a checkpoint, and back; text of another kind changes nothing. */
enum { CLI_EPOCHS_WORDS = 320 };
void cli_epochs_write(const cli_epochs *epochs, char text[CLI_EPOCHS_WORDS]);
void cli_epochs_read(cli_epochs *epochs, const char *text);

#endif
