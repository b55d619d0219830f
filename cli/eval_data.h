/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures with known answers: classes by folders, masks, target pictures, boxes, or an archive. */
#ifndef CLI_EVAL_DATA_H
#define CLI_EVAL_DATA_H

#include "eval_settings.h"
#include "train_data.h"

#include <rynd/eval.h>

typedef struct cli_eval_data {
    const char *path; /* borrowed */
    const char *kind; /* "pictures with masks" */
    rynd_task task;
    size_t count;
    char **files;  /* pictures; NULL: rows of an archive */
    char **truths; /* masks or targets; NULL: none */
    /* CLASSIFY: the class of each picture. DETECT: objects of picture i are objects[first[i]] to
     * objects[first[i + 1]]. */
    int64_t *labels;
    rynd_object *objects;
    bool fractions; /* boxes are fractions of the picture */
    size_t *first;
    /* Names of the data's classes, by label; NULL: the data names none. */
    char **classes;
    size_t class_count;
    cli_dataset archive; /* kind NULL: pictures */
    double range;        /* IMAGE: largest minus smallest possible value; 0: 255 */
} cli_eval_data;

/* Opens everything but an archive. The caller closes, also when this fails. */
bool cli_eval_data_open(cli_eval_data *data, const cli_eval_settings *settings,
                        cli_failure *failure);
bool cli_eval_is_archive(const char *path);
/* Opens an archive for a model's inputs. */
bool cli_eval_data_open_archive(cli_eval_data *data, const cli_eval_settings *settings,
                                const rynd_model *model, cli_failure *failure);
void cli_eval_data_close(cli_eval_data *data);

#endif
