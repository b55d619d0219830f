/* SPDX-License-Identifier: Apache-2.0 */
/* The truth about a picture: a label, a mask, a target picture, or another model's answer. */
#include "eval_model.h"
#include "files.h"
#include "input_file.h"
#include "picture_layout.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void cli_truth_free(cli_truth *truth)
{
    cli_tensor_free(&truth->map);
    cli_image_free(&truth->image);
}

static bool read_mask(const char *path, cli_truth *truth, cli_failure *failure)
{
    cli_bytes bytes;
    cli_image image = {0};
    if (!cli_input_map(path, &bytes, failure)) {
        return false;
    }
    bool done = cli_png_read_classes(&bytes, path, &image, failure);
    cli_input_unmap(&bytes);
    const int64_t dim[] = {image.height, image.width};
    done = done && cli_tensor_make(&truth->map, RYND_DTYPE_U16, 2, dim, failure);
    for (int64_t i = 0; done && i < image.height * image.width; i++) {
        ((uint16_t *)truth->map.view.data)[i] = (uint16_t)image.pixels[i];
    }
    cli_image_free(&image);
    truth->grid = truth->map.view;
    return done;
}

static bool get_row(const cli_eval_data *data, cli_truth *truth, cli_failure *failure)
{
    cli_sample sample;
    snprintf(truth->name, sizeof truth->name, "row %zu of '%.400s'", truth->index, data->path);
    if (!data->archive.kind->read(&data->archive, truth->index, &sample, failure)) {
        return false;
    }
    truth->grid = data->task == RYND_TASK_IMAGE ? cli_picture_of(&sample.y) : sample.y;
    truth->label = sample.y.rank == 0 ? *(const int64_t *)sample.y.data : -1;
    return true;
}

bool cli_truth_get(const cli_eval_data *data, size_t index, int64_t ignore, cli_truth *truth,
                   cli_failure *failure)
{
    *truth = (cli_truth){.index = index, .label = -1, .ignore = ignore};
    if (data->archive.kind) {
        return get_row(data, truth, failure);
    }
    snprintf(truth->name, sizeof truth->name, "'%.500s'",
             data->truths ? data->truths[index] : data->files[index]);
    truth->label = data->labels ? data->labels[index] : -1;
    if (data->task == RYND_TASK_SEGMENT) {
        return read_mask(data->truths[index], truth, failure);
    }
    if (data->task == RYND_TASK_IMAGE) {
        const bool done = cli_image_read(data->truths[index], NULL, &truth->image, failure);
        truth->grid = done ? cli_image_view(&truth->image) : truth->grid;
        return done;
    }
    return true;
}

static bool make_agreement(rynd_evaluation **agreement, const cli_eval_model *model,
                           const cli_eval_data *data, cli_failure *failure)
{
    const rynd_evaluation_options options =
        RYND_SIZED(rynd_evaluation_options, .task = data->task, .classes = model->classes,
                   .range = data->range);
    return rynd_evaluation_create(NULL, &options, agreement) == RYND_OK ||
           cli_fail_library(failure);
}

/* Boxes of another model, of at least its head's score, as objects. */
static rynd_status add_boxes(rynd_evaluation *agreement, const cli_eval_model *model,
                             const cli_answer *answer, const cli_answer *other)
{
    static const rynd_object none = {.width = 0};
    rynd_object objects[CLI_EVAL_BOXES];
    size_t count = 0;
    for (size_t i = 0; i < other->count; i++) {
        const rynd_box *b = &other->boxes[i];
        if ((double)b->score < model->task.head.score) {
            continue;
        }
        objects[count] = none;
        objects[count].left = (double)b->left;
        objects[count].top = (double)b->top;
        objects[count].width = (double)b->right - (double)b->left;
        objects[count].height = (double)b->bottom - (double)b->top;
        objects[count].area = -1;
        objects[count++].label = b->label;
    }
    return rynd_evaluation_add_boxes(agreement, answer->boxes, answer->count, objects, count);
}

bool cli_eval_compare(rynd_evaluation **agreement, const cli_eval_model *model,
                      const cli_eval_data *data, const cli_answer *answer, const cli_answer *other,
                      cli_failure *failure)
{
    rynd_status status = RYND_OK;
    if (!*agreement && !make_agreement(agreement, model, data, failure)) {
        return false;
    }
    const rynd_tensor found = cli_image_view(&answer->image), truth = cli_image_view(&other->image);
    switch (data->task) {
    case RYND_TASK_CLASSIFY:
        status = rynd_evaluation_add_label(*agreement, answer->classes, answer->count,
                                           other->classes[0].label);
        break;
    case RYND_TASK_DETECT: status = add_boxes(*agreement, model, answer, other); break;
    case RYND_TASK_SEGMENT:
        status = rynd_evaluation_add_map(*agreement, &answer->map.view, &other->map.view, -1);
        break;
    case RYND_TASK_IMAGE: status = rynd_evaluation_add_picture(*agreement, &found, &truth); break;
    }
    return status == RYND_OK || cli_fail_library(failure);
}
