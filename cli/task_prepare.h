/* SPDX-License-Identifier: Apache-2.0 */
/* How a task's pictures become the model's input: which input, size, batch and values. */
#ifndef CLI_TASK_PREPARE_H
#define CLI_TASK_PREPARE_H

#include "task_plan.h"

/* Loads the model, and settles labels, preparation and outputs. task->kind and task->settings are
 * given. The caller closes, also when this fails. */
bool cli_task_open(cli_task *task, const char *model, cli_failure *failure);
/* The same of a model that takes no pictures: labels and outputs. */
bool cli_task_load(cli_task *task, const char *model, cli_failure *failure);
void cli_task_close(cli_task *task);
/* Takes the model's only input, and checks that it takes pictures. */
bool cli_task_open_input(cli_task *task, cli_failure *failure);
/* The preparation for networks on ImageNet or from TensorFlow, which options change; a task may
 * replace it by cli_task_prepare. */
bool cli_task_open_preparation(cli_task *task, cli_failure *failure);
/* Takes the preparation of a head, but for what options say. */
void cli_task_take_preparation(cli_task *task, const rynd_preparation *preparation);
/* Pictures of one run. */
int64_t cli_task_batch(const cli_task *task);
/* Size of the input for a picture. */
void cli_task_input_size(const cli_task *task, const cli_image *image, int64_t *height,
                         int64_t *width);
/* Puts a picture into a place of the planned batch. */
bool cli_task_place(cli_task *task, cli_task_picture *picture, int64_t index, cli_failure *failure);
/* Makes a grey photo one of colours, so that something can be drawn into it. */
bool cli_task_colours(const cli_task *task, cli_task_picture *picture, cli_failure *failure);

#endif
