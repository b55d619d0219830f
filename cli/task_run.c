/* SPDX-License-Identifier: Apache-2.0 */
/* The way from files to results that all tasks share: a plan, pictures in batches, output. */
#include "task_run.h"

#include "files.h"
#include "folder_list.h"
#include "json_out.h"
#include "notes.h"
#include "task_files.h"
#include "task_kinds.h"
#include "task_prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const cli_task_kind *const kinds[] = {&cli_task_classify, &cli_task_detect,
                                             &cli_task_segment, &cli_task_image};

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

static bool open_task(cli_task *task, cli_failure *failure)
{
    const cli_run_settings *settings = task->settings;
    if (!cli_task_list(&settings->inputs, &task->files, &task->file_count, failure)) {
        return false;
    }
    if (settings->output && !task->kind->writes) {
        return cli_fail_usage(failure, "--task %s writes no file; leave --output out",
                              task->kind->name);
    }
    if (settings->output && !cli_task_check_output(settings->output, task->file_count,
                                                   task->kind == &cli_task_segment, failure)) {
        return false;
    }
    if (settings->labels && !cli_labels_open(&task->labels, settings->labels, failure)) {
        return false;
    }
    cli_progress_show(&task->progress, "loading the model", 0.01);
    return cli_setup_context(&task->setup, &settings->common, failure) &&
           cli_setup_model(&task->setup, settings->common.arguments.items[0], failure) &&
           cli_task_open_input(task, failure) && open_outputs(task, failure) &&
           cli_task_open_preparation(task, failure) && task->kind->open(task, failure);
}

/* Prints or keeps what a picture gave. */
static void report(cli_task *task, cli_task_picture *picture)
{
    if (picture->json) {
        cli_json_number(picture->json, "time", task->seconds / (double)task->batch);
        return;
    }
    cli_progress_end(&task->progress);
    cli_line(stdout, "%s", picture->line);
}

static bool begin_picture(cli_task *task, cli_task_picture *picture, const char *file,
                          cli_failure *failure)
{
    *picture = (cli_task_picture){.file = file};
    if (!cli_image_read(file, NULL, &picture->image, failure)) {
        return false;
    }
    if (picture->image.dropped_alpha) {
        cli_note(&task->settings->common, "'%s' has transparency, which is ignored", file);
    }
    if (task->results) {
        picture->json = cli_json_object_in(task->results);
        cli_json_text(picture->json, "file", file);
        cli_json_number(picture->json, "height", (double)picture->image.height);
        cli_json_number(picture->json, "width", (double)picture->image.width);
    } else {
        cli_task_say(picture, "%.150s %" PRId64 "x%" PRId64 ": ", file, picture->image.height,
                     picture->image.width);
    }
    return true;
}

/* Reads and prepares one picture for its place in the batch. */
static bool take_picture(cli_task *task, cli_task_picture *picture, const char *file, int64_t index,
                         cli_failure *failure)
{
    int64_t height, width;
    if (!begin_picture(task, picture, file, failure)) {
        return false;
    }
    picture->index = index;
    cli_task_input_size(task, &picture->image, &height, &width);
    /* pictures of a batch have one size: the first one's, where the input leaves it open */
    if ((index == 0 && !cli_task_plan(task, cli_task_batch(task), height, width, failure)) ||
        !cli_task_colours(task, picture, failure)) {
        return false;
    }
    const rynd_tensor photo = cli_image_view(&picture->image);
    if (rynd_picture_prepare(task->setup.context, &photo, &task->preparation, &task->tensor.view,
                             index, &picture->frame) != RYND_OK) {
        cli_fail_library(failure);
        return cli_fail_prefix(failure, "'%s': ", file);
    }
    return true;
}

static bool run_batch(cli_task *task, cli_task_picture *pictures, size_t first, size_t count,
                      cli_failure *failure)
{
    for (size_t i = 0; i < count; i++) {
        if (!take_picture(task, &pictures[i], task->files[first + i], (int64_t)i, failure)) {
            return false;
        }
    }
    if (!cli_task_infer(task, failure)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (!task->kind->finish(task, &pictures[i], failure)) {
            return cli_fail_prefix(failure, "'%s': ", pictures[i].file);
        }
        report(task, &pictures[i]);
    }
    return true;
}

static bool run_alone(cli_task *task, cli_task_picture *picture, const char *file,
                      cli_failure *failure)
{
    if (!begin_picture(task, picture, file, failure) || !task->kind->run(task, picture, failure) ||
        !task->kind->finish(task, picture, failure)) {
        return false;
    }
    report(task, picture);
    return true;
}

static bool run_all(cli_task *task, cli_failure *failure)
{
    const size_t batch = task->kind->run ? 1 : (size_t)cli_task_batch(task);
    cli_task_picture *pictures = calloc(batch, sizeof *pictures);
    bool done = pictures ? true : cli_fail_memory(failure);
    for (size_t i = 0; done && i < task->file_count; i += batch) {
        const size_t left = task->file_count - i, count = left < batch ? left : batch;
        cli_progress_show(&task->progress, task->files[i],
                          0.02 + 0.98 * (double)i / (double)task->file_count);
        done = task->kind->run ? run_alone(task, pictures, task->files[i], failure)
                               : run_batch(task, pictures, i, count, failure);
        for (size_t k = 0; k < count; k++) {
            cli_image_free(&pictures[k].image);
        }
    }
    free(pictures);
    return done;
}

static void close_task(cli_task *task)
{
    rynd_session_destroy(task->session);
    cli_tensor_free(&task->tensor);
    free(task->names);
    free(task->outputs);
    cli_labels_free(&task->labels);
    cli_setup_close(&task->setup);
    cli_names_free(task->files, task->file_count);
    cli_names_free(task->used, task->used_count);
}

bool cli_task_run(const cli_run_settings *settings, cli_failure *failure)
{
    cli_task task = {.settings = settings, .kind = kinds[settings->task - 1]};
    cJSON *document = settings->common.json ? cli_json_begin("run", &task.results) : NULL;
    cli_progress_begin(&task.progress, &settings->common);
    const bool done = open_task(&task, failure) && run_all(&task, failure);
    cli_progress_end(&task.progress);
    close_task(&task);
    if (done && document) {
        return cli_json_print(document, failure);
    }
    cJSON_Delete(document);
    return done;
}
