/* SPDX-License-Identifier: Apache-2.0 */
/* The state of `rynd eval`: data, one model or two, and their figures. */
#ifndef CLI_EVAL_RUN_H
#define CLI_EVAL_RUN_H

#include "eval_model.h"
#include "progress.h"

typedef struct cli_evaluating {
    const cli_eval_settings *settings;
    cli_eval_data data;
    cli_eval_model models[2];
    size_t model_count;
    rynd_evaluation *agreement; /* NULL: one model, or nothing to compare */
    cli_progress progress;
    size_t left_out; /* pictures that could not be read */
    double seconds;  /* wall clock time */
} cli_evaluating;

/* Asks the models about all of the data. */
bool cli_eval_go(cli_evaluating *e, cli_failure *failure);

/* Prints figures, classes and confusions, or their JSON document. */
bool cli_eval_report(cli_evaluating *e, cli_failure *failure);

/* Prints the confusion matrix, or its largest mistakes if it is too wide. */
bool cli_eval_print_confusion(const cli_eval_model *model, cli_failure *failure);
/* Draws it as SVG. */
bool cli_eval_draw_confusion(const cli_eval_model *model, const char *path, cli_failure *failure);

#endif
