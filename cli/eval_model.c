/* SPDX-License-Identifier: Apache-2.0 */
/* Opens a model for an evaluation: its task, its classes beside those of the data. */
#include "eval_model.h"

#include "notes.h"
#include "task_kinds.h"
#include "task_prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* By rynd_task. */
static const cli_task_kind *const kinds[] = {&cli_task_classify, &cli_task_detect,
                                             &cli_task_segment, &cli_task_image};

void cli_answer_free(cli_answer *answer)
{
    free(answer->boxes);
    cli_tensor_free(&answer->map);
    cli_image_free(&answer->image);
    *answer = (cli_answer){.count = 0};
}

static int64_t find_label(const cli_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->count; i++) {
        if (labels->items[i] && strcmp(labels->items[i], name) == 0) {
            return (int64_t)i;
        }
    }
    return -1;
}

/* "cat, dog, bird ..." */
static void list_labels(const cli_labels *labels, char *text, size_t room)
{
    size_t used = 0;
    *text = 0;
    for (size_t i = 0; i < labels->count && i < 12 && used < room; i++) {
        const char *name = cli_label_of(labels, (int64_t)i);
        used += (size_t)snprintf(text + used, room - used, "%s%.40s", i ? ", " : "",
                                 name ? name : "(no name)");
    }
    if (labels->count > 12 && used < room) {
        snprintf(text + used, room - used, " ...");
    }
}

static bool refuse_class(const cli_eval_model *model, const cli_eval_data *data, const char *name,
                         cli_failure *failure)
{
    char known[640];
    list_labels(&model->task.labels, known, sizeof known);
    return cli_fail(
        failure,
        "'%s': the class '%.80s' of the data is not among the %zu of '%s': %s; --labels "
        "FILE gives the model's classes other names",
        data->path, name, model->task.labels.count, model->file, known);
}

/* Finds the classes of the data by name; without names on one side they agree by order. */
static bool match_classes(cli_eval_model *model, const cli_eval_data *data, cli_failure *failure)
{
    const cli_labels *labels = &model->task.labels;
    const char *missing = NULL;
    size_t found = 0;
    if (!data->classes || labels->count == 0) {
        return true;
    }
    model->labels = calloc(data->class_count + 1, sizeof *model->labels);
    if (!model->labels) {
        return cli_fail_memory(failure);
    }
    for (size_t i = 0; i < data->class_count; i++) {
        model->labels[i] = find_label(labels, data->classes[i]);
        found += model->labels[i] >= 0;
        missing = model->labels[i] < 0 && !missing ? data->classes[i] : missing;
    }
    if (!missing) {
        return true;
    }
    if (found > 0 || data->class_count != labels->count) {
        return refuse_class(model, data, missing, failure);
    }
    cli_note(&model->settings.common,
             "no class of the data has a name of '%s'; they are matched in order", model->file);
    free(model->labels);
    model->labels = NULL;
    return true;
}

bool cli_eval_model_load(cli_eval_model *model, cli_failure *failure)
{
    model->task.settings = &model->settings;
    return cli_task_load(&model->task, model->file, failure);
}

bool cli_eval_model_open(cli_eval_model *model, const cli_eval_data *data, cli_failure *failure)
{
    model->task.settings = &model->settings;
    model->task.kind = kinds[data->task];
    model->task.file_count = data->count;
    return cli_task_open(&model->task, model->file, failure) && match_classes(model, data, failure);
}

void cli_eval_model_close(cli_eval_model *model)
{
    rynd_evaluation_destroy(model->evaluation);
    free(model->labels);
    cli_samples_free(&model->times);
    cli_task_close(&model->task);
}

/* Classes of scores of pixels: the smaller of the outer dimensions; one is a probability. */
static int64_t pixel_classes(const cli_eval_model *model)
{
    enum { BYTE = 256 };
    const rynd_tensor *scores = &model->task.outputs[0];
    const int64_t named = (int64_t)model->task.labels.count;
    if (scores->dtype >= RYND_DTYPE_I8 && scores->dtype <= RYND_DTYPE_U64) {
        return named > 0 ? named : BYTE;
    }
    const int64_t *dim = scores->dim + (scores->rank > 3);
    const int64_t channels = dim[0] < dim[2] ? dim[0] : dim[2];
    return channels == 1 ? 2 : channels;
}

/* How many classes the model has, by its first outputs. */
static int64_t count_classes(const cli_eval_model *model, const cli_eval_data *data)
{
    const rynd_tensor *first = &model->task.outputs[0];
    switch (data->task) {
    case RYND_TASK_CLASSIFY: return first->dim[first->rank > 1];
    case RYND_TASK_SEGMENT: return pixel_classes(model);
    case RYND_TASK_IMAGE: return 0;
    case RYND_TASK_DETECT: break;
    }
    const cli_task *task = &model->task;
    return task->head.classes > 0   ? task->head.classes
           : task->labels.count > 0 ? (int64_t)task->labels.count
                                    : (int64_t)data->class_count;
}

static bool make_evaluation(cli_eval_model *model, const cli_eval_data *data, cli_failure *failure)
{
    model->classes = count_classes(model, data);
    const rynd_evaluation_options options =
        RYND_SIZED(rynd_evaluation_options, .task = data->task, .classes = model->classes,
                   .range = data->range);
    if (rynd_evaluation_create(model->task.setup.context, &options, &model->evaluation) !=
        RYND_OK) {
        model->evaluation = NULL;
        return cli_fail_library(failure);
    }
    if (data->classes && !model->labels && (int64_t)data->class_count != model->classes) {
        cli_note(&model->settings.common,
                 "the data has %zu classes and '%s' %" PRId64
                 "; class i of the data counts as class i of the model (--labels names them)",
                 data->class_count, model->file, model->classes);
    }
    return true;
}

static int64_t label_of(const cli_eval_model *model, int64_t label)
{
    return model->labels ? model->labels[label] : label;
}

static rynd_status add_boxes(cli_eval_model *model, const cli_eval_data *data, size_t index,
                             const cli_answer *answer, cli_failure *failure)
{
    const size_t first = data->first[index], count = data->first[index + 1] - first;
    rynd_object *objects = malloc((count + 1) * sizeof *objects);
    if (!objects) {
        cli_fail_memory(failure);
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        rynd_object *o = &objects[i];
        *o = data->objects[first + i];
        if (data->fractions) {
            o->left *= (double)answer->width;
            o->width *= (double)answer->width;
            o->top *= (double)answer->height;
            o->height *= (double)answer->height;
        }
        objects[i].label = label_of(model, objects[i].label);
    }
    const rynd_status status =
        rynd_evaluation_add_boxes(model->evaluation, answer->boxes, answer->count, objects, count);
    free(objects);
    return status;
}

/* Values of arrays count as they are, pixels of pictures rounded. */
static rynd_status add_picture(cli_eval_model *model, const cli_eval_data *data,
                               const cli_answer *answer, const rynd_tensor *truth,
                               cli_failure *failure)
{
    const cli_image *image = &answer->image;
    if (data->archive.kind) {
        const rynd_tensor values = cli_image_view(image);
        return rynd_evaluation_add_picture(model->evaluation, &values, truth);
    }
    unsigned char *bytes = cli_image_bytes(image); /* the picture that rynd run would write */
    if (!bytes) {
        cli_fail_memory(failure);
        return RYND_ERROR_OUT_OF_MEMORY;
    }
    const int64_t dim[] = {image->height, image->width, image->channels};
    const rynd_tensor found = rynd_tensor_of(bytes, RYND_DTYPE_U8, 3, dim);
    const rynd_status status = rynd_evaluation_add_picture(model->evaluation, &found, truth);
    free(bytes);
    return status;
}

bool cli_eval_add(cli_eval_model *model, const cli_eval_data *data, const cli_truth *truth,
                  const cli_answer *answer, cli_failure *failure)
{
    rynd_status status = RYND_OK;
    if (!model->evaluation && !make_evaluation(model, data, failure)) {
        return false;
    }
    switch (data->task) {
    case RYND_TASK_CLASSIFY:
        status = rynd_evaluation_add_label(model->evaluation, answer->classes, answer->count,
                                           label_of(model, truth->label));
        break;
    case RYND_TASK_DETECT: status = add_boxes(model, data, truth->index, answer, failure); break;
    case RYND_TASK_SEGMENT:
        status = rynd_evaluation_add_map(model->evaluation, &answer->map.view, &truth->grid,
                                         truth->ignore);
        break;
    case RYND_TASK_IMAGE: status = add_picture(model, data, answer, &truth->grid, failure); break;
    }
    if (status == RYND_OK) {
        return true;
    }
    if (status != RYND_ERROR_OUT_OF_MEMORY) {
        cli_fail_library(failure);
    }
    return cli_fail_prefix(failure, "%s: ", truth->name);
}

const char *cli_eval_class_name(const cli_eval_model *model, int64_t label, char number[24])
{
    const char *name = cli_label_of(&model->task.labels, label);
    snprintf(number, 24, "%" PRId64, label);
    return name ? name : number;
}
