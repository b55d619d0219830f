/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of a model's plan, or of a problem. */
#ifndef CLI_STEPS_H
#define CLI_STEPS_H

#include "failure.h"

#include <rynd/rynd.h>

typedef struct cli_steps {
    const rynd_plan *plan; /* NULL: one kernel computes `op` */
    const rynd_op *op;     /* NULL: `plan` is a model's */
} cli_steps;

/* op NULL: a model's plan. Both are borrowed. */
cli_steps cli_steps_of(const rynd_plan *plan, const rynd_op *op);

size_t cli_steps_count(const cli_steps *steps);
bool cli_steps_get(const cli_steps *steps, size_t index, rynd_step_info *step,
                   cli_failure *failure);

/* The predicted time of a step in its network. */
bool cli_steps_predict(const cli_steps *steps, size_t index, rynd_prediction *time,
                       cli_failure *failure);

#endif
