/* SPDX-License-Identifier: Apache-2.0 */
/* rynd run --task: pictures in, boxes, masks, classes or pictures out. */
#ifndef CLI_TASK_RUN_H
#define CLI_TASK_RUN_H

#include "run_settings.h"

bool cli_task_run(const cli_run_settings *settings, cli_failure *failure);

#endif
