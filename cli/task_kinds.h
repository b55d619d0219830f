/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of rynd run --task. */
#ifndef CLI_TASK_KINDS_H
#define CLI_TASK_KINDS_H

#include "task_plan.h"

/* In the order of --task's choices. */
extern const cli_task_kind cli_task_classify, cli_task_detect, cli_task_segment, cli_task_image;

/* The parts of `finish` that find the answer for a picture of the last run. */
bool cli_task_find_classes(const cli_task *task, const cli_task_picture *picture,
                           rynd_class *classes, size_t *count, cli_failure *failure);
/* `count`: room before, number of boxes after the call. */
bool cli_task_find_boxes(const cli_task *task, const cli_task_picture *picture, rynd_box *boxes,
                         size_t *count, cli_failure *failure);
/* The class of each pixel, u16; the caller frees it, also when this fails. */
bool cli_task_find_map(const cli_task *task, const cli_task_picture *picture, cli_tensor *map,
                       cli_failure *failure);

#endif
