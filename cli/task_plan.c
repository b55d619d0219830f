/* SPDX-License-Identifier: Apache-2.0 */
/* Plans and runs of a task, and its results. */
#include "task_plan.h"

#include "files.h"
#include "json_out.h"
#include "statistics.h"
#include "task_files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_task_say(cli_task_picture *picture, const char *format, ...)
{
    const size_t used = strlen(picture->line);
    va_list args;
    va_start(args, format);
    vsnprintf(picture->line + used, sizeof picture->line - used, format, args);
    va_end(args);
}

bool cli_task_plan(cli_task *task, int64_t batch, int64_t height, int64_t width,
                   cli_failure *failure)
{
    if (task->session && task->batch == batch && task->height == height && task->width == width) {
        return true;
    }
    int64_t dim[RYND_MAX_RANK] = {0};
    const cli_picture_layout *at = &task->layout;
    const int rank = task->input.rank < 0 ? 4 : task->input.rank;
    rynd_session_destroy(task->session);
    rynd_plan_destroy(task->setup.plan);
    task->session = NULL;
    task->setup.plan = NULL;
    cli_tensor_free(&task->tensor);
    dim[at->height] = height;
    dim[at->width] = width;
    if (at->channel >= 0) {
        dim[at->channel] = at->channels;
    }
    if (at->batch >= 0) {
        dim[at->batch] = batch;
    }
    if (!cli_tensor_make(&task->tensor, task->input.dtype, rank, dim, failure)) {
        return false;
    }
    rynd_tensor shape = task->tensor.view;
    shape.data = NULL; /* with data, a plan may hold for this content only */
    if (!cli_setup_plan(&task->setup, &task->settings->common, &shape, false, failure)) {
        return false;
    }
    task->batch = batch;
    task->height = height;
    task->width = width;
    if (rynd_session_create(task->setup.plan, &task->session) != RYND_OK) {
        task->session = NULL;
        return cli_fail_library(failure);
    }
    return rynd_session_bind_input(task->session, 0, &task->tensor.view) == RYND_OK
               ? true
               : cli_fail_library(failure);
}

bool cli_task_infer(cli_task *task, cli_failure *failure)
{
    const double begin = cli_now();
    if (rynd_session_run(task->session) != RYND_OK) {
        return cli_fail_library(failure);
    }
    task->seconds = cli_now() - begin;
    task->all_seconds += task->seconds;
    for (size_t i = 0; i < task->output_count; i++) {
        if (rynd_session_get_output(task->session, i, &task->outputs[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

bool cli_task_write(cli_task *task, cli_task_picture *picture, const char *suffix,
                    cli_failure *failure)
{
    const char *output = task->settings->output;
    if (!output) {
        return true;
    }
    char *path = cli_task_file(output, picture->file, suffix, &task->used, &task->used_count);
    if (!path) {
        return cli_fail_memory(failure);
    }
    const bool done = cli_image_write(path, &picture->image, failure);
    if (done && picture->json) {
        cli_json_text(picture->json, *suffix ? "classes_file" : "output", path);
    } else if (done && !*suffix) {
        cli_task_say(picture, " -> %s", path);
    }
    free(path);
    return done;
}
