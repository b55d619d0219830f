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
    if (!settings->output && task->kind == &cli_task_image) {
        return cli_fail_usage(failure, "--task image needs --output FILE|DIR");
    }
    cli_progress_show(&task->progress, "loading the model", 0.01);
    return cli_task_open(task, settings->common.arguments.items[0], failure);
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

/* Reads the next picture. Notes and skips unreadable files, unless there is only one file. */
static bool read_next(cli_task *task, size_t *next, cli_task_picture *picture, bool *got,
                      cli_failure *failure)
{
    for (*got = false; !*got && *next < task->file_count; ++*next) {
        cli_progress_show(&task->progress, task->files[*next],
                          0.02 + 0.98 * (double)*next / (double)task->file_count);
        *got = begin_picture(task, picture, task->files[*next], failure);
        if (!*got && task->file_count == 1) {
            return false;
        }
        if (!*got) {
            cli_progress_end(&task->progress);
            cli_note(&task->settings->common, "%s; it is left out", failure->text);
            *failure = (cli_failure){.exit_code = 0};
            task->left_out++;
        }
    }
    return true;
}

/* Fills a place of the batch. Its pictures have one size: the first one's, where the input leaves it
 * open. */
static bool prepare_picture(cli_task *task, cli_task_picture *picture, int64_t index,
                            cli_failure *failure)
{
    int64_t height, width;
    cli_task_input_size(task, &picture->image, &height, &width);
    return (index > 0 || cli_task_plan(task, cli_task_batch(task), height, width, failure)) &&
           cli_task_place(task, picture, index, failure);
}

/* Reads and runs up to `batch` pictures; sets their number. */
static bool run_batch(cli_task *task, size_t *next, cli_task_picture *pictures, size_t batch,
                      size_t *count, cli_failure *failure)
{
    bool got = true;
    for (*count = 0; got && *count < batch; *count += got) {
        if (!read_next(task, next, &pictures[*count], &got, failure)) {
            return false;
        }
        if (got && !task->kind->run &&
            !prepare_picture(task, &pictures[*count], (int64_t)*count, failure)) {
            ++*count; /* its memory is freed with the others' */
            return false;
        }
    }
    bool done = *count == 0 || (task->kind->run ? task->kind->run(task, pictures, failure)
                                                : cli_task_infer(task, failure));
    for (size_t i = 0; done && i < *count; i++) {
        done = task->kind->finish(task, &pictures[i], failure)
                   ? true
                   : cli_fail_prefix(failure, "'%s': ", pictures[i].file);
        if (done) {
            report(task, &pictures[i]);
        }
    }
    return done;
}

static bool run_all(cli_task *task, cli_failure *failure)
{
    const size_t batch = task->kind->run ? 1 : (size_t)cli_task_batch(task);
    cli_task_picture *pictures = calloc(batch, sizeof *pictures);
    bool done = pictures ? true : cli_fail_memory(failure);
    for (size_t next = 0, count; done && next < task->file_count;) {
        done = run_batch(task, &next, pictures, batch, &count, failure);
        for (size_t k = 0; k < count; k++) {
            cli_image_free(&pictures[k].image);
        }
    }
    free(pictures);
    return done;
}

bool cli_task_run(const cli_run_settings *settings, cli_failure *failure)
{
    cli_task task = {.settings = settings, .kind = kinds[settings->task - 1]};
    cJSON *document = settings->common.json ? cli_json_begin("run", &task.results) : NULL;
    cli_progress_begin(&task.progress, &settings->common);
    const bool done = open_task(&task, failure) && run_all(&task, failure);
    const size_t file_count = task.file_count;
    cli_progress_end(&task.progress);
    cli_task_close(&task);
    cli_names_free(task.files, file_count);
    cli_names_free(task.used, task.used_count);
    if (done && document && !cli_json_print(document, failure)) {
        return false;
    }
    if (!done) {
        cJSON_Delete(document);
        return false;
    }
    return task.left_out == 0 ? true
                              : cli_fail(failure, "%zu of %zu pictures could not be read",
                                         task.left_out, file_count);
}
