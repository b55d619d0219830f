/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a task's model, and what goes with it: labels, preparation, outputs. */
#include "task_prepare.h"

#include <stdlib.h>

static bool open_outputs(cli_task *task, cli_failure *failure)
{
    const size_t count = rynd_model_output_count(task->setup.model);
    task->names = calloc(count + 1, sizeof *task->names);
    task->outputs = calloc(count + 1, sizeof *task->outputs);
    if (!task->names || !task->outputs) {
        return cli_fail_memory(failure);
    }
    task->output_count = count;
    for (size_t i = 0; i < count; i++) {
        rynd_value_info info = RYND_SIZED(rynd_value_info);
        if (rynd_model_get_output(task->setup.model, i, &info) != RYND_OK) {
            return cli_fail_library(failure);
        }
        task->names[i] = info.name;
    }
    return true;
}

/* Labels and the preparation of pictures: options, or the model's metadata. */
static bool open_facts(cli_task *task, cli_failure *failure)
{
    const cli_run_settings *settings = task->settings;
    const bool labels = settings->labels
                            ? cli_labels_open(&task->labels, settings->labels, failure)
                            : cli_labels_of_model(&task->labels, task->setup.model, failure);
    return labels &&
           cli_facts_preprocess(task->setup.model, &settings->common, &task->facts, failure);
}

bool cli_task_load(cli_task *task, const char *model, cli_failure *failure)
{
    return cli_setup_context(&task->setup, &task->settings->common, failure) &&
           cli_setup_model(&task->setup, model, failure) && open_facts(task, failure) &&
           open_outputs(task, failure);
}

bool cli_task_open(cli_task *task, const char *model, cli_failure *failure)
{
    return cli_task_load(task, model, failure) && cli_task_open_input(task, failure) &&
           cli_task_open_preparation(task, failure) && task->kind->open(task, failure);
}

void cli_task_close(cli_task *task)
{
    rynd_session_destroy(task->session);
    cli_tensor_free(&task->tensor);
    free(task->names);
    free(task->outputs);
    cli_labels_free(&task->labels);
    cli_setup_close(&task->setup);
}
