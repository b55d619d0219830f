/* SPDX-License-Identifier: Apache-2.0 */
/* Batches of a set, made by threads ahead of whoever takes them.
 *
 * Which samples a batch has, and what is done to them, is a function of seed and number alone:
 *
 *   batch b is of epoch b / batches, and has the places (b % batches) * batch ... of its order;
 *   the order is the permutation of (seed, epoch), or the set's own without shuffling;
 *   the last, incomplete batch of an epoch is left out while training;
 *   of several ranks each makes a part of every batch, as large as the others'.
 *
 * A sample that cannot be read is named once and counted, and its place is taken by the next of the
 * order that can. */
#ifndef CLI_TRAIN_LOADER_H
#define CLI_TRAIN_LOADER_H

#include "train_batch.h"

typedef struct cli_loader cli_loader;

enum { CLI_LOADER_BATCHES = 3 }; /* that are held at once */

typedef struct cli_loader_options {
    const cli_batch_form *form; /* borrowed; its batch is this loader's part */
    const cli_common *common;   /* for notes */
    uint64_t seed;
    bool shuffle;
    bool whole; /* the last batch of an epoch, too: its rest is filled with the first samples */
    uint64_t batches; /* that are taken of each epoch; 0: as many as there are */
    uint64_t first;   /* the number of the first batch */
    uint64_t end;     /* one past the last batch; UINT64_MAX: endless */
    unsigned threads; /* at least 1 */
    int part,
        parts; /* this loader makes part `part` of the `parts` equal parts of each batch; parts is at least 1 */
} cli_loader_options;

typedef struct cli_batch {
    uint64_t number;
    uint32_t epoch;
    rynd_tensor x[CLI_TRAIN_INPUTS], y; /* an x for each of the form's inputs */
    int64_t count; /* samples at the beginning of it: less than all, or none, in the last batch */
    /* one flag per sample: it is the order's own, no replacement */
    const unsigned char *own;
} cli_batch;

/* Batches of an epoch; `batch` is of all parts. */
uint64_t cli_loader_batches(const cli_dataset *set, int64_t batch, bool whole);

/* Threads that read samples ahead: --threads, else one per core. */
unsigned cli_loader_threads(const cli_common *common);

/* NULL when it fails. */
cli_loader *cli_loader_start(const cli_loader_options *options, cli_failure *failure);
/* Waits for the next batch and takes it; it stays until cli_loader_give. At the end, and where this
 * part of the last batch has no sample, batch->count is 0. One thread only. */
bool cli_loader_take(cli_loader *loader, cli_batch *batch, cli_failure *failure);
void cli_loader_give(cli_loader *loader);
/* Returns one flag per sample: 1 if it could not be read. Call after the last batch, or from the
 * thread that took the last one. */
const unsigned char *cli_loader_broken(const cli_loader *loader);
/* Waits for the samples at hand only. NULL is allowed. */
void cli_loader_stop(cli_loader *loader);

#endif
