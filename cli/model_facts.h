/* SPDX-License-Identifier: Apache-2.0 */
/* Facts that `rynd train` writes into a model's metadata, for the commands that use the model:
 *
 *   names          classes, as {0: 'cat', 1: 'dog'}, the form of other tools (Ultralytics)
 *   rynd.pictures  the preparation of pictures, as options: "--size 256 --crop 224" */
#ifndef CLI_MODEL_FACTS_H
#define CLI_MODEL_FACTS_H

#include "preprocess.h"

/* Names of classes. */
typedef struct cli_class_names {
    char **items; /* owned; NULL: class i has no name */
    size_t count;
} cli_class_names;

/* Reads `names`, a dict of Python or a list of JSON. None, or another form: count is 0. */
bool cli_facts_names(const rynd_model *model, cli_class_names *names, cli_failure *failure);
void cli_class_names_free(cli_class_names *names);
/* Fills options that nobody gave from `rynd.pictures`, and notes it; a preset counts as all. */
bool cli_facts_preprocess(const rynd_model *model, const cli_common *common,
                          cli_preprocess *preprocess, cli_failure *failure);

/* Writes both; classes NULL: no names. What `preprocess` leaves open is not written. */
bool cli_facts_set(rynd_model *model, char *const *classes, size_t count,
                   const cli_preprocess *preprocess, cli_failure *failure);

#endif
