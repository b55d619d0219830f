/* SPDX-License-Identifier: Apache-2.0 */
/* From settings to a context, a model and a plan; failures become messages. */
#ifndef CLI_SETUP_H
#define CLI_SETUP_H

#include "options.h"

/* The caller destroys what it gets, also when this fails: pointers are NULL then. */
typedef struct cli_setup {
    rynd_context *context;
    rynd_model *model;
    rynd_plan *plan;
    rynd_expr *gradient; /* has the model; NULL: there is none */
    double load_time;    /* seconds that loading the model took */
} cli_setup;

/* Does this build have the kind of device that --device names? */
bool cli_check_device(const cli_common *common, cli_failure *failure);
bool cli_setup_context(cli_setup *setup, const cli_common *common, cli_failure *failure);
bool cli_setup_model(cli_setup *setup, const char *path, cli_failure *failure);
/* The gradient of a problem of expr, as the model. */
bool cli_setup_gradient(cli_setup *setup, const char *problem, cli_failure *failure);
/* --batch, which must change something or be what the model has; without it 1, with a note, where
 * an input leaves its first dimension open, and else 0. */
bool cli_setup_batch(const rynd_model *model, const cli_common *common, int64_t *batch,
                     cli_failure *failure);
/* inputs: one for each of the model's, or NULL: an open batch is 1 then. */
bool cli_setup_plan(cli_setup *setup, const cli_common *common, const rynd_tensor *inputs,
                    bool without_weights, cli_failure *failure);
/* The options that cli_setup_plan makes a plan with; what they point to is the settings'. */
bool cli_setup_plan_options(const cli_setup *setup, const cli_common *common,
                            const rynd_tensor *inputs, rynd_plan_options *options,
                            cli_failure *failure);
/* Model and plan only: for the next model in the same context. */
void cli_setup_close_model(cli_setup *setup);
void cli_setup_close(cli_setup *setup);

/* Makes the operator of a problem's text; its weights are constants. inputs NULL: it can be looked
 * at only. */
bool cli_setup_op(cli_setup *setup, const cli_common *common, const char *problem,
                  const rynd_tensor *inputs, rynd_op **op, cli_failure *failure);

/* Refuses settings (--set) that name no step: of a model every one does. */
bool cli_check_steps(const cli_common *common, cli_failure *failure);

/* Bit i: input i of a problem does not change from run to run. */
unsigned cli_constants_of(const char *problem);

/* 1 when text is a problem, not the name of a file. */
bool cli_is_problem(const char *text);

/* Bytes: the most memory that this process held at once, since the last reset where the system
 * allows one. */
double cli_peak_memory(void);
void cli_peak_memory_reset(void);

#endif
