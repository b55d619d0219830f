/* SPDX-License-Identifier: Apache-2.0 */
/* A model that learns: the library's trainer, with what the command's settings ask of it. */
#ifndef CLI_TRAIN_MODEL_H
#define CLI_TRAIN_MODEL_H

#include "setup.h"
#include "train_checkpoint.h"
#include "train_loader.h"
#include "train_ranks.h"
#include "train_score.h"
#include "train_settings.h"

#define CLI_OPTIMIZERS "sgd|adam|adamw"
#define CLI_INITS      "model|he|uniform"
#define CLI_DROPOUTS   "model|off"
#define CLI_STORAGES   "f32|bf16"

typedef struct cli_trainee {
    const cli_setup *setup;
    rynd_trainer *trainer;
} cli_trainee;

const char *cli_optimizer_name(int optimizer);
/* Returns the storage type of activations, given or default. */
rynd_dtype cli_storage(const cli_train_settings *settings);

bool cli_trainee_open(cli_trainee *trainee, const cli_setup *setup,
                      const cli_train_settings *settings, const cli_score_rule *rule,
                      const cli_batch_form *form, const cli_ranks *ranks, cli_failure *failure);
void cli_trainee_close(cli_trainee *trainee);

/* One step. *output (of the forward pass) is valid until the next call. */
bool cli_trainee_step(cli_trainee *trainee, const cli_batch *batch, double rate, double *loss,
                      rynd_tensor *output, cli_failure *failure);
/* What the present weights make of a batch, as in inference; likewise. */
bool cli_trainee_evaluate(cli_trainee *trainee, const cli_batch *batch, rynd_tensor *output,
                          cli_failure *failure);

/* All that a run goes on with: in place where the host can read it, so write it before the next
 * step, else copies. The caller frees the checkpoint. */
bool cli_trainee_states(cli_trainee *trainee, cli_checkpoint *checkpoint, cli_failure *failure);
/* Are a checkpoint's states as many as this run's? */
bool cli_trainee_fits(const cli_trainee *trainee, const cli_checkpoint *checkpoint,
                      const char *path, cli_failure *failure);
bool cli_trainee_restore(cli_trainee *trainee, const cli_tensor *state, const char *path,
                         cli_failure *failure);
/* Writes the model's file with the present weights. */
bool cli_trainee_save(const cli_trainee *trainee, const char *path, cli_failure *failure);

#endif
