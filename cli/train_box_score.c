/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a detector while it is trained. */
#include "train_box_score.h"

#include <stdlib.h>
#include <string.h>

/* As in `rynd eval`: the most boxes of a picture, and the least score. */
enum { MOST_BOXES = 300, MOST_OUTPUTS = 64 };
static const double LEAST_SCORE = 0.001;

/* Outputs of the last evaluation. */
typedef struct outputs {
    size_t count;
    const char *names[MOST_OUTPUTS];
    rynd_tensor tensors[MOST_OUTPUTS];
} outputs;

static bool take_outputs(const cli_box_judge *judge, outputs *o, cli_failure *failure)
{
    const rynd_trainer *trainer = judge->trainer;
    o->count = rynd_trainer_output_count(trainer);
    for (size_t i = 0; i < o->count && i < MOST_OUTPUTS; i++) {
        if (rynd_trainer_get_output_at(trainer, i, &o->names[i], &o->tensors[i]) != RYND_OK) {
            return cli_fail_library(failure);
        }
    }
    return true;
}

/* The rows of a target that are boxes. */
static size_t objects_of(const rynd_tensor *y, int64_t sample, rynd_object *objects)
{
    const float *row = (const float *)y->data + sample * y->dim[1] * y->dim[2];
    size_t count = 0;
    for (int64_t i = 0; i < y->dim[1]; i++, row += y->dim[2]) {
        if (row[0] >= 0) {
            objects[count++] = (rynd_object){.left = (double)row[1],
                                             .top = (double)row[2],
                                             .width = (double)row[3] - (double)row[1],
                                             .height = (double)row[4] - (double)row[2],
                                             .area = -1,
                                             .label = (int64_t)row[0]};
        }
    }
    return count;
}

static bool add_picture(const cli_box_judge *judge, rynd_evaluation *evaluation, const outputs *o,
                        const rynd_tensor *y, int64_t sample, cli_failure *failure)
{
    const cli_extent to = judge->input;
    const rynd_frame frame = {1, 1, 0, 0, to.height, to.width};
    const rynd_detection detection =
        RYND_SIZED(rynd_detection, .head = judge->head->name, .names = o->names,
                   .outputs = o->tensors, .output_count = o->count, .height = to.height,
                   .width = to.width, .index = sample, .frame = &frame, .score = LEAST_SCORE);
    rynd_box *boxes = malloc(MOST_BOXES * sizeof *boxes);
    rynd_object *objects = malloc((size_t)y->dim[1] * sizeof *objects);
    size_t count = MOST_BOXES;
    bool done = (boxes && objects) || cli_fail_memory(failure);
    if (done && (rynd_detect(judge->context, &detection, boxes, &count) != RYND_OK ||
                 rynd_evaluation_add_boxes(evaluation, boxes, count, objects,
                                           objects_of(y, sample, objects)) != RYND_OK)) {
        done = cli_fail_library(failure);
    }
    free(boxes);
    free(objects);
    return done;
}

static bool add_batch(const cli_box_judge *judge, rynd_evaluation *evaluation,
                      const cli_batch *batch, cli_score *score, cli_failure *failure)
{
    outputs o;
    double loss;
    size_t own = 0;
    if (rynd_trainer_evaluate(judge->trainer, batch->x, &batch->y, &loss) != RYND_OK) {
        return cli_fail_library(failure);
    }
    if (!take_outputs(judge, &o, failure)) {
        return false;
    }
    for (int64_t i = 0; i < batch->y.dim[0]; i++) {
        own += batch->own[i];
        if (batch->own[i] && !add_picture(judge, evaluation, &o, &batch->y, i, failure)) {
            return false;
        }
    }
    score->samples += own;
    score->loss += loss * (double)own;
    return true;
}

static bool add_batches(const cli_box_judge *judge, cli_loader *loader, rynd_evaluation *evaluation,
                        cli_score *score, cli_failure *failure)
{
    for (;;) {
        cli_batch batch;
        if (!cli_loader_take(loader, &batch, failure)) {
            return false;
        }
        if (batch.count == 0) {
            return true;
        }
        if (!add_batch(judge, evaluation, &batch, score, failure)) {
            return false;
        }
        cli_loader_give(loader);
    }
}

/* A figure by its name; 0 where nothing was to be found. */
static bool figure_of(rynd_evaluation *evaluation, const char *name, double *value,
                      cli_failure *failure)
{
    *value = 0;
    for (size_t i = 0; i < rynd_evaluation_figure_count(evaluation); i++) {
        rynd_figure figure = RYND_SIZED(rynd_figure);
        if (rynd_evaluation_get_figure(evaluation, i, &figure) != RYND_OK) {
            return cli_fail_library(failure);
        }
        if (strcmp(figure.name, name) == 0 && figure.value > 0) {
            *value = figure.value;
        }
    }
    return true;
}

bool cli_train_score_boxes(const cli_box_judge *judge, cli_loader *loader, cli_score *score,
                           cli_failure *failure)
{
    const rynd_evaluation_options options =
        RYND_SIZED(rynd_evaluation_options, .task = RYND_TASK_DETECT, .classes = judge->classes);
    rynd_evaluation *evaluation = NULL;
    double map = 0;
    if (rynd_evaluation_create(judge->context, &options, &evaluation) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool done = add_batches(judge, loader, evaluation, score, failure) &&
                      figure_of(evaluation, "map", &map, failure) &&
                      figure_of(evaluation, "map50", &score->map50, failure);
    rynd_evaluation_destroy(evaluation);
    score->boxes = score->classes = true;
    score->right = map * (double)score->samples;
    return done;
}
