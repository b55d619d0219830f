/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of a model's outputs: a table, files, the largest values with their labels, JSON. */
#ifndef CLI_RUN_OUTPUTS_H
#define CLI_RUN_OUTPUTS_H

#include "held_tensor.h"
#include "model_facts.h"
#include "run_settings.h"
#include "setup.h"

#include <cjson/cJSON.h>

typedef struct cli_outputs {
    size_t count;
    rynd_tensor *tensors;
    const char **names; /* borrowed from the model */
    char **plain;       /* as names of files and of arrays in an archive */
    char **files;       /* where each was written; NULL: nowhere */
    char **labels;      /* lines of --labels */
    size_t label_count;
    char *label_text;
    cli_class_names classes; /* without --labels: the model's own */
} cli_outputs;

/* Before anything runs: names, labels, and whether --output can take this model's outputs; makes
 * its folder. The caller frees, also when this fails. */
bool cli_outputs_open(cli_outputs *outputs, const cli_setup *setup,
                      const cli_run_settings *settings, cli_failure *failure);
/* After the run. */
bool cli_outputs_collect(cli_outputs *outputs, const rynd_session *session, cli_failure *failure);
bool cli_outputs_write(cli_outputs *outputs, const cli_setup *setup,
                       const cli_run_settings *settings, cli_failure *failure);
bool cli_outputs_print(const cli_outputs *outputs, const cli_run_settings *settings,
                       cli_failure *failure);
bool cli_outputs_json(const cli_outputs *outputs, const cli_run_settings *settings, cJSON *result,
                      cli_failure *failure);
void cli_outputs_free(cli_outputs *outputs);

#endif
