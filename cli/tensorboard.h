/* SPDX-License-Identifier: Apache-2.0 */
/* Event files of TensorBoard: scalars over steps. */
#ifndef CLI_TENSORBOARD_H
#define CLI_TENSORBOARD_H

#include "failure.h"

#include <stdint.h>
#include <stdio.h>

typedef struct cli_tensorboard {
    char *path; /* owned */
    FILE *file; /* NULL: nothing is written */
} cli_tensorboard;

typedef struct cli_scalar {
    const char *tag; /* at most 64 bytes, as "loss/train" */
    double value;
} cli_scalar;

enum { CLI_MOST_SCALARS = 8 };

/* Begins an event file in a folder, which is made where it is not there. Of events that earlier
 * files of the folder have, TensorBoard leaves out those behind `step`. */
bool cli_tensorboard_open(cli_tensorboard *board, const char *folder, uint64_t step,
                          cli_failure *failure);
/* Adds at most CLI_MOST_SCALARS scalars of a step; values that are no number are left out. */
bool cli_tensorboard_add(cli_tensorboard *board, uint64_t step, const cli_scalar *scalars,
                         size_t count, cli_failure *failure);
void cli_tensorboard_close(cli_tensorboard *board);

#endif
