/* SPDX-License-Identifier: Apache-2.0 */
/* The tasks of rynd run --task. */
#ifndef CLI_TASK_KINDS_H
#define CLI_TASK_KINDS_H

#include "task_plan.h"

/* In the order of --task's choices. */
extern const cli_task_kind cli_task_classify, cli_task_detect, cli_task_segment, cli_task_image;

#endif
