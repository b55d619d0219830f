/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements as a table for those who fit models of their own: a row for each form that was
 * measured (docs/tuning.md, "Samples"). */
#ifndef CLI_TUNE_SAMPLES_H
#define CLI_TUNE_SAMPLES_H

#include "failure.h"

#include <rynd/rynd.h>

typedef struct cli_tune_samples {
    const char *path; /* NULL: nobody asks */
    bool lines;       /* JSON Lines; else CSV */
    char *text;
    size_t used, capacity, rows, written; /* written: of `used` */
    char device[64], isa[16];
    unsigned threads;
} cli_tune_samples;

/* path: ends with .csv, or with .jsonl or .json (JSON Lines); NULL: nothing is kept. */
bool cli_tune_samples_begin(cli_tune_samples *samples, const char *path,
                            const rynd_context *context, cli_failure *failure);
bool cli_tune_samples_add(cli_tune_samples *samples, const rynd_tuning *tuning,
                          cli_failure *failure);
/* Writes the whole file, if it lacks rows. */
bool cli_tune_samples_write(cli_tune_samples *samples, cli_failure *failure);
void cli_tune_samples_free(cli_tune_samples *samples);

#endif
