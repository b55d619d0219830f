/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a model on pictures and rows in batches, and takes the answers out of its outputs. */
#include "eval_model.h"
#include "picture_layout.h"
#include "run_inputs.h"
#include "task_kinds.h"
#include "task_prepare.h"
#include "wording.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 16 }; /* rows of one run, if the batch is open */

/* Notes what a run of `count` pictures took; the rest of the batch is filling. */
static bool note_run(cli_eval_model *model, double seconds, size_t batch, size_t count,
                     cli_failure *failure)
{
    if (model->runs++ == 0) { /* touches memory for the first time */
        model->first_seconds = seconds;
        model->first_pictures = count;
        return true;
    }
    model->seconds += seconds;
    model->pictures += count;
    for (size_t i = 0; i < count; i++) {
        if (!cli_samples_add(&model->times, seconds / (double)batch)) {
            return cli_fail_memory(failure);
        }
    }
    return true;
}

/* The picture that an archive's row became. */
static bool collect_row(const cli_task *task, const cli_task_picture *picture, cli_image *image,
                        cli_failure *failure)
{
    const double scale = task->settings->output_scale != 0 ? task->settings->output_scale : 1;
    rynd_tensor output = task->outputs[0];
    cli_picture_layout at;
    if (output.rank != 4 || !cli_picture_layout_of(4, output.dim, 0, &at)) {
        return cli_fail(failure, "output '%s' %s is not pictures of 1 or 3 channels",
                        task->names[0], cli_shape_of_tensor(&output).text);
    }
    output.data = (char *)output.data +
                  picture->index * output.stride[0] * (int64_t)rynd_dtype_size(output.dtype);
    return cli_picture_get(&output, &at, scale, false, image, failure);
}

/* The answer for a picture of the last run. */
static bool collect(const cli_eval_model *model, const cli_eval_data *data,
                    const cli_task_picture *picture, cli_answer *answer, cli_failure *failure)
{
    const cli_task *task = &model->task;
    switch (data->task) {
    case RYND_TASK_CLASSIFY:
        answer->count = CLI_EVAL_BEST;
        return cli_task_find_classes(task, picture, answer->classes, &answer->count, failure);
    case RYND_TASK_SEGMENT: return cli_task_find_map(task, picture, &answer->map, failure);
    case RYND_TASK_IMAGE: return collect_row(task, picture, &answer->image, failure);
    case RYND_TASK_DETECT: break;
    }
    answer->count = CLI_EVAL_BOXES;
    answer->height = picture->frame.height;
    answer->width = picture->frame.width;
    answer->boxes = malloc(CLI_EVAL_BOXES * sizeof *answer->boxes);
    return answer->boxes
               ? cli_task_find_boxes(task, picture, answer->boxes, &answer->count, failure)
               : cli_fail_memory(failure);
}

static bool copy_image(const cli_image *from, const char *name, cli_image *to, cli_failure *failure)
{
    if (!cli_image_make(to, from->height, from->width, from->channels, name, failure)) {
        return false;
    }
    memcpy(to->pixels, from->pixels,
           (size_t)(from->height * from->width * from->channels) * sizeof *to->pixels);
    return true;
}

/* A task that runs as often as it wants for a picture, which becomes the result. */
static bool answer_alone(cli_eval_model *model, const cli_task_picture *picture, cli_answer *answer,
                         cli_failure *failure)
{
    cli_task_picture own = {.file = picture->file};
    const double before = model->task.all_seconds;
    if (!copy_image(&picture->image, picture->file, &own.image, failure)) {
        return false;
    }
    const bool done = model->task.kind->run(&model->task, &own, failure);
    answer->image = own.image;
    return done ? note_run(model, model->task.all_seconds - before, 1, 1, failure)
                : cli_fail_prefix(failure, "'%s': ", picture->file);
}

static bool is_open(const cli_eval_model *model)
{
    const cli_task *task = &model->task;
    return task->layout.batch >= 0 && task->settings->common.batch == 0 &&
           (task->input.rank < 0 || task->want[task->layout.batch] < 0);
}

/* Pictures of one size of the input, from the first on. */
static size_t count_alike(const cli_task *task, const cli_task_picture *pictures, size_t most,
                          int64_t size[2])
{
    size_t count = 1;
    cli_task_input_size(task, &pictures[0].image, &size[0], &size[1]);
    for (; count < most; count++) {
        int64_t height, width;
        cli_task_input_size(task, &pictures[count].image, &height, &width);
        if (height != size[0] || width != size[1]) {
            break;
        }
    }
    return count;
}

/* Runs the model once. *count: number of pictures before, number of answers after. */
static bool answer_batch(cli_eval_model *model, const cli_eval_data *data,
                         cli_task_picture *pictures, size_t *count, cli_answer *answers,
                         cli_failure *failure)
{
    cli_task *task = &model->task;
    int64_t size[2];
    const size_t batch = (size_t)cli_task_batch(task);
    *count = count_alike(task, pictures, *count < batch ? *count : batch, size);
    const size_t planned = is_open(model) ? *count : batch;
    if (!cli_task_plan(task, (int64_t)planned, size[0], size[1], failure)) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        if (!cli_task_place(task, &pictures[i], (int64_t)i, failure)) {
            return false;
        }
    }
    if (!cli_task_infer(task, failure) ||
        !note_run(model, task->seconds, planned, *count, failure)) {
        return false;
    }
    for (size_t i = 0; i < *count; i++) {
        if (!collect(model, data, &pictures[i], &answers[i], failure)) {
            return cli_fail_prefix(failure, "'%s': ", pictures[i].file);
        }
    }
    return true;
}

bool cli_eval_answer(cli_eval_model *model, const cli_eval_data *data, cli_task_picture *pictures,
                     size_t count, cli_answer *answers, cli_failure *failure)
{
    for (size_t i = 0, some; i < count; i += some) {
        some = model->task.kind->run ? 1 : count - i;
        if (!(model->task.kind->run
                  ? answer_alone(model, &pictures[i], &answers[i], failure)
                  : answer_batch(model, data, pictures + i, &some, answers + i, failure))) {
            return false;
        }
    }
    return true;
}

static size_t batch_of_rows(const cli_eval_model *model, const cli_eval_data *data)
{
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    const cli_common *common = &model->settings.common;
    if (rynd_model_get_input(model->task.setup.model, 0, &info) == RYND_OK && info.rank > 0) {
        int64_t want[RYND_MAX_RANK];
        cli_input_dims(&info, common, want);
        if (want[0] >= 0) {
            return (size_t)(want[0] > 0 ? want[0] : 1);
        }
    }
    const size_t most = common->batch > 0 ? (size_t)common->batch : ROWS;
    return most < data->count ? most : data->count;
}

size_t cli_eval_batch(const cli_eval_model *model, const cli_eval_data *data)
{
    return data->archive.kind      ? batch_of_rows(model, data)
           : model->task.kind->run ? 1
                                   : (size_t)cli_task_batch(&model->task);
}

/* The arrays' rows from `first` on as tensors of `batch` rows. */
static bool view_rows(const cli_eval_data *data, size_t first, size_t batch, size_t inputs,
                      rynd_tensor *views, cli_failure *failure)
{
    cli_sample row;
    if (!data->archive.kind->read(&data->archive, first, &row, failure)) {
        return false;
    }
    for (size_t i = 0; i < inputs; i++) {
        int64_t dim[RYND_MAX_RANK];
        const rynd_tensor *x = &row.x[i];
        dim[0] = (int64_t)batch;
        memcpy(dim + 1, x->dim, (size_t)x->rank * sizeof *dim);
        views[i] = rynd_tensor_of(x->data, x->dtype, x->rank + 1, dim);
    }
    return true;
}

static bool plan_rows(cli_task *task, const rynd_tensor *views, size_t inputs, cli_failure *failure)
{
    rynd_tensor shapes[CLI_TRAIN_INPUTS];
    if (task->session) {
        return true;
    }
    for (size_t i = 0; i < inputs; i++) {
        shapes[i] = views[i];
        shapes[i].data = NULL; /* with data, a plan may hold for this content only */
    }
    if (!cli_setup_plan(&task->setup, &task->settings->common, shapes, false, failure)) {
        return false;
    }
    if (rynd_session_create(task->setup.plan, &task->session) != RYND_OK) {
        task->session = NULL;
        return cli_fail_library(failure);
    }
    return true;
}

/* Runs `batch` rows that begin at row `from`. */
static bool run_rows(cli_eval_model *model, const cli_eval_data *data, size_t from, size_t batch,
                     cli_failure *failure)
{
    cli_task *task = &model->task;
    rynd_tensor views[CLI_TRAIN_INPUTS];
    const size_t inputs = rynd_model_input_count(task->setup.model);
    if (!view_rows(data, from, batch, inputs, views, failure) ||
        !plan_rows(task, views, inputs, failure)) {
        return false;
    }
    for (size_t i = 0; i < inputs; i++) {
        if (rynd_session_bind_input(task->session, i, &views[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return cli_task_infer(task, failure);
}

/* Where row `index` of a run lies, and how large its map is. */
static bool place_row(cli_eval_model *model, const cli_eval_data *data, size_t row, int64_t index,
                      cli_task_picture *picture, cli_failure *failure)
{
    cli_sample sample;
    if (!data->archive.kind->read(&data->archive, row, &sample, failure)) {
        return false;
    }
    *picture = (cli_task_picture){.file = data->path, .index = index};
    if (sample.y.rank == 2) {
        model->task.height = sample.y.dim[0];
        model->task.width = sample.y.dim[1];
        picture->frame = (rynd_frame){
            .scale_y = 1, .scale_x = 1, .height = sample.y.dim[0], .width = sample.y.dim[1]};
    }
    return true;
}

bool cli_eval_answer_rows(cli_eval_model *model, const cli_eval_data *data, size_t first,
                          size_t count, cli_answer *answers, cli_failure *failure)
{
    const size_t batch = batch_of_rows(model, data);
    if (batch > data->count) {
        return cli_fail(failure, "'%s' has %zu rows, and '%s' runs %zu at once", data->path,
                        data->count, model->file, batch);
    }
    for (size_t done = 0, some; done < count; done += some) {
        /* the last batch begins earlier, so that it is whole */
        const size_t row = first + done, last = data->count - batch, from = row < last ? row : last;
        some = batch - (row - from);
        some = some < count - done ? some : count - done;
        if (!run_rows(model, data, from, batch, failure) ||
            !note_run(model, model->task.seconds, batch, some, failure)) {
            return false;
        }
        for (size_t i = 0; i < some; i++) {
            cli_task_picture picture;
            if (!place_row(model, data, row + i, (int64_t)(row + i - from), &picture, failure) ||
                !collect(model, data, &picture, &answers[done + i], failure)) {
                return false;
            }
        }
    }
    return true;
}
