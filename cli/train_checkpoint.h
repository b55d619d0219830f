/* SPDX-License-Identifier: Apache-2.0 */
/* Where a run is, in one file: an .npz of every parameter and every other state of the trainer, and
 * of what the run was asked. Random numbers need no state but the step. */
#ifndef CLI_TRAIN_CHECKPOINT_H
#define CLI_TRAIN_CHECKPOINT_H

#include "held_tensor.h"

#include <stdint.h>

typedef struct cli_checkpoint {
    uint64_t step;      /* steps done */
    char *settings;     /* "loss=mse batch=16 ...": what decides about bits; owned */
    cli_tensor *states; /* names are set; owned */
    size_t count;
} cli_checkpoint;

/* Whole or not at all (output_file.h); the states' views may have any strides. */
bool cli_checkpoint_write(const char *path, const cli_checkpoint *checkpoint, cli_failure *failure);
/* Reads a checkpoint's states one by one: memory holds one state at a time. */
typedef struct cli_checkpoint_receiver {
    void *user;
    /* before the first one: names are there, and no data */
    bool (*begin)(void *user, const cli_checkpoint *checkpoint, cli_failure *failure);
    bool (*take)(void *user, const cli_tensor *state, cli_failure *failure);
} cli_checkpoint_receiver;

/* receiver NULL: the checkpoint keeps all states. */
bool cli_checkpoint_read(const char *path, const cli_checkpoint_receiver *receiver,
                         cli_checkpoint *checkpoint, cli_failure *failure);
void cli_checkpoint_free(cli_checkpoint *checkpoint);

#endif
