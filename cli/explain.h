/* SPDX-License-Identifier: Apache-2.0 */
/* Says what choices were made among: candidates, what refuses the others, the limit, and where the
 * time goes. */
#ifndef CLI_EXPLAIN_H
#define CLI_EXPLAIN_H

#include "options.h"

typedef struct cli_explain_settings {
    const char *name; /* the model's path, or the problem */
    const char *step; /* explain only this step; NULL: all */
    size_t forms;     /* at most so many of each kernel */
} cli_explain_settings;

/* Prints of an operator, or (op NULL) of a plan: each distinct problem once. */
bool cli_explain(const rynd_context *context, const rynd_plan *plan, const rynd_op *op,
                 const cli_explain_settings *settings, const cli_common *common,
                 cli_failure *failure);

#endif
