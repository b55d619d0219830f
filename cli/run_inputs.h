/* SPDX-License-Identifier: Apache-2.0 */
/* From the files of -i to the tensors of a model's inputs. */
#ifndef CLI_RUN_INPUTS_H
#define CLI_RUN_INPUTS_H

#include "held_tensor.h"
#include "run_settings.h"
#include "setup.h"

typedef struct cli_input {
    rynd_value_info info;
    int64_t want[RYND_MAX_RANK]; /* info.dim with --dim and --batch put in; -1 where open */
    cli_tensor tensor;
    int64_t pictures; /* stacked along the batch so far; 0: not made of pictures */
    const char *file; /* the first one; NULL: not given yet */
    char did[256];    /* what was done to the file's content */
} cli_input;

typedef struct cli_inputs {
    cli_input *items;
    size_t count;
    /* alternative names in an archive: the input names as an archive of outputs spells them */
    char **plain;
    rynd_tensor *views; /* one for each item, for rynd_plan_options */
} cli_inputs;

/* Reads every file. What is left open, ambiguous or wrong is refused with the model's inputs named.
 * The caller frees, also when this fails. */
bool cli_inputs_open(cli_inputs *inputs, const cli_setup *setup, const cli_run_settings *settings,
                     cli_failure *failure);
/* Dims of an input with --dim and --batch put in; -1 where open. `want` has info->rank elements. */
void cli_input_dims(const rynd_value_info *info, const cli_common *common, int64_t *want);
void cli_inputs_free(cli_inputs *inputs);

#endif
