/* SPDX-License-Identifier: Apache-2.0 */
/* Says what choices were made among: candidates, what refuses the others, the limit, and where the
 * time goes. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "options.h"
#include "steps.h"

typedef struct cli_explain_settings {
    const char *name; /* the model's path, or the problem */
    const char *step; /* explain only this step; NULL: all */
    size_t forms;     /* at most so many of each kernel */
} cli_explain_settings;

/* Explains each distinct problem of the steps once. */
bool cli_explain(const rynd_context *context, const cli_steps *steps,
                 const cli_explain_settings *settings, const cli_common *common,
                 cli_failure *failure);

#endif
