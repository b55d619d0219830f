/* SPDX-License-Identifier: Apache-2.0 */
/* A model under evaluation: its answers for pictures or rows, and how long they take. */
#ifndef CLI_EVAL_MODEL_H
#define CLI_EVAL_MODEL_H

#include "eval_data.h"
#include "statistics.h"
#include "task_plan.h"

enum { CLI_EVAL_BEST = 5, CLI_EVAL_BOXES = 300 }; /* classes and boxes of a picture that count */

/* The answer for a picture; the task decides which fields are used. */
typedef struct cli_answer {
    rynd_class classes[CLI_EVAL_BEST];
    size_t count; /* number of classes or boxes */
    rynd_box *boxes;
    int64_t height, width; /* DETECT: of the picture */
    cli_tensor map;
    cli_image image;
} cli_answer;

void cli_answer_free(cli_answer *answer);

/* The truth about a picture. */
typedef struct cli_truth {
    char name[512];   /* for messages: "'masks/cat.png'", "row 7 of 'x.npz'" */
    size_t index;     /* picture's place in the data */
    int64_t label;    /* CLASSIFY: class of the data */
    int64_t ignore;   /* SEGMENT: class of pixels to leave out; -1: none */
    rynd_tensor grid; /* SEGMENT: classes; IMAGE: the target */
    cli_tensor map;   /* owned memory of `grid` */
    cli_image image;
} cli_truth;

/* Reads or finds the truth about a picture. The caller frees, also when this fails. */
bool cli_truth_get(const cli_eval_data *data, size_t index, int64_t ignore, cli_truth *truth,
                   cli_failure *failure);
void cli_truth_free(cli_truth *truth);

typedef struct cli_eval_model {
    cli_run_settings settings; /* a copy, with this model's accuracy class */
    const char *file;
    cli_task task;
    rynd_evaluation *evaluation; /* NULL: nothing ran yet */
    int64_t classes;
    int64_t *labels; /* per class of the data: the model's; NULL: they agree */
    /* seconds a picture; pictures and seconds of all runs but the first, and of the first */
    cli_samples times;
    size_t runs, pictures, first_pictures;
    double seconds, first_seconds;
} cli_eval_model;

/* Loads a model for the data's task; for an archive, which is opened by the model, without the
 * data. The caller closes, also when these fail. */
bool cli_eval_model_open(cli_eval_model *model, const cli_eval_data *data, cli_failure *failure);
bool cli_eval_model_load(cli_eval_model *model, cli_failure *failure);
void cli_eval_model_close(cli_eval_model *model);

/* The most pictures or rows of one run. */
size_t cli_eval_batch(const cli_eval_model *model, const cli_eval_data *data);
/* Answers for pictures, whose grey images may get colours. The caller frees the answers, also when
 * this fails. */
bool cli_eval_answer(cli_eval_model *model, const cli_eval_data *data, cli_task_picture *pictures,
                     size_t count, cli_answer *answers, cli_failure *failure);
/* Answers for rows of an archive from `first` on. */
bool cli_eval_answer_rows(cli_eval_model *model, const cli_eval_data *data, size_t first,
                          size_t count, cli_answer *answers, cli_failure *failure);

/* Adds an answer and its truth to the evaluation. */
bool cli_eval_add(cli_eval_model *model, const cli_eval_data *data, const cli_truth *truth,
                  const cli_answer *answer, cli_failure *failure);

/* Share of equal answers of two models; NULL while nothing ran. `other` is the truth. */
bool cli_eval_compare(rynd_evaluation **agreement, const cli_eval_model *model,
                      const cli_eval_data *data, const cli_answer *answer, const cli_answer *other,
                      cli_failure *failure);

/* "cat", or "7" for a class without a name. */
const char *cli_eval_class_name(const cli_eval_model *model, int64_t label, char number[24]);

#endif
