/* SPDX-License-Identifier: Apache-2.0 */
/* Names of classes: the lines of a file, a set that the library knows, or a model's own. */
#ifndef CLI_CLASS_LABELS_H
#define CLI_CLASS_LABELS_H

#include "model_facts.h"

#include <stddef.h>
#include <stdint.h>

typedef struct cli_labels {
    const char *const *items; /* item i names class i */
    size_t count;
    /* owned, if the names are a file's */
    char *text;
    const char **lines;
    cli_class_names names; /* the model's */
} cli_labels;

/* `name`: a file, or coco, voc or face if no file is called so. A number or ImageNet's code before
 * every name ("7,cock", "n01514668 cock") is left out. */
bool cli_labels_open(cli_labels *labels, const char *name, cli_failure *failure);
/* The names in a model's metadata; none there: count is 0. */
bool cli_labels_of_model(cli_labels *labels, const rynd_model *model, cli_failure *failure);
void cli_labels_free(cli_labels *labels);
/* NULL: the class has no name. */
const char *cli_label_of(const cli_labels *labels, int64_t index);

#endif
