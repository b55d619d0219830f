/* SPDX-License-Identifier: Apache-2.0 */
/* How much memory a run will take, before it runs. */
#ifndef CLI_TRAIN_MEMORY_H
#define CLI_TRAIN_MEMORY_H

#include "train_run.h"

/* Bytes. */
typedef struct cli_train_memory {
    double trainer;    /* for steps: weights, moments, activations, packed weights */
    double batch;      /* one that is read */
    double reading;    /* batches in flight, and pictures while they are decoded */
    double validation; /* 0: there is none */
    double process;    /* the peak of all: code and libraries, too */
} cli_train_memory;

/* Plans the validation, where there is one, and looks at some pictures; nothing is trained. */
bool cli_train_forecast_memory(cli_train_run *run, cli_train_memory *memory, cli_failure *failure);

#endif
