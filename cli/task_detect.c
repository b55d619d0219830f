/* SPDX-License-Identifier: Apache-2.0 */
/* --task detect: boxes as a table or JSON, drawn into the picture. */
#include "json_out.h"
#include "notes.h"
#include "table.h"
#include "task_kinds.h"
#include "task_prepare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static bool open(cli_task *task, cli_failure *failure)
{
    const cli_run_settings *settings = task->settings;
    task->head = RYND_SIZED(rynd_head);
    if (rynd_model_get_head(task->setup.model, settings->head, &task->head) != RYND_OK) {
        return cli_fail_library(failure);
    }
    cli_detail(&settings->common, "the outputs are those of head '%s': %s", task->head.name,
               task->head.about);
    cli_task_take_preparation(task, &task->head.preparation);
    return task->labels.count > 0 || !task->head.labels ||
           cli_labels_open(&task->labels, task->head.labels, failure);
}

/* The name of a class, or its number. */
static const char *name_of(const cli_task *task, int64_t label, char number[24])
{
    const char *name = cli_label_of(&task->labels, label);
    snprintf(number, 24, "%" PRId64, label);
    return name ? name : number;
}

static void add_json(const cli_task *task, cJSON *object, const rynd_box *boxes, size_t count)
{
    cli_json_text(object, "head", task->head.name);
    cJSON *list = cJSON_AddArrayToObject(object, "boxes");
    for (size_t i = 0; i < count; i++) {
        const rynd_box *box = &boxes[i];
        cJSON *item = cli_json_object_in(list);
        cli_json_number(item, "label", (double)box->label);
        cli_json_text(item, "name", cli_label_of(&task->labels, box->label));
        cli_json_number(item, "score", (double)box->score);
        cli_json_number(item, "left", (double)box->left);
        cli_json_number(item, "top", (double)box->top);
        cli_json_number(item, "right", (double)box->right);
        cli_json_number(item, "bottom", (double)box->bottom);
        if (box->keypoint_count > 0) {
            cJSON *points = cJSON_AddArrayToObject(item, "keypoints");
            for (int64_t k = 0; k < box->keypoint_count; k++) {
                cJSON_AddItemToArray(points, cJSON_CreateFloatArray(box->keypoints[k], 2));
            }
        }
    }
}

/* "3 boxes: 2 person, 1 dog", classes in the order of their best box. */
static void summarise(const cli_task *task, cli_task_picture *picture, const rynd_box *boxes,
                      size_t count)
{
    cli_task_say(picture, "%zu box%s", count, count == 1 ? "" : "es");
    for (size_t i = 0, kinds = 0; i < count; i++) {
        size_t before = 0, same = 0;
        for (size_t k = 0; k < count; k++) {
            same += boxes[k].label == boxes[i].label;
            before += k < i && boxes[k].label == boxes[i].label;
        }
        if (before == 0) {
            char number[24];
            cli_task_say(picture, "%s%zu %.40s", kinds++ ? ", " : ": ", same,
                         name_of(task, boxes[i].label, number));
        }
    }
}

static bool print_boxes(const cli_task *task, const rynd_box *boxes, size_t count,
                        cli_failure *failure)
{
    static const char *const head[] = {"class", "score", "left", "top", "right", "bottom"};
    cli_table table;
    cli_table_begin(&table, "lrrrrr", head);
    for (size_t i = 0; i < count; i++) {
        char number[24];
        cli_table_add(&table, "%s", name_of(task, boxes[i].label, number));
        cli_table_add(&table, "%.3f", (double)boxes[i].score);
        cli_table_add(&table, "%.1f", (double)boxes[i].left);
        cli_table_add(&table, "%.1f", (double)boxes[i].top);
        cli_table_add(&table, "%.1f", (double)boxes[i].right);
        cli_table_add(&table, "%.1f", (double)boxes[i].bottom);
    }
    return cli_table_print(&table, stdout) ? true : cli_fail_memory(failure);
}

static bool draw(cli_task *task, cli_task_picture *picture, const rynd_box *boxes, size_t count,
                 cli_failure *failure)
{
    const rynd_tensor photo = cli_image_view(&picture->image);
    if (!task->settings->output) {
        return true;
    }
    return rynd_draw_boxes(&photo, boxes, count, task->labels.items, task->labels.count) == RYND_OK
               ? cli_task_write(task, picture, "", failure)
               : cli_fail_library(failure);
}

bool cli_task_find_boxes(const cli_task *task, const cli_task_picture *picture, rynd_box *boxes,
                         size_t *count, cli_failure *failure)
{
    const rynd_detection detection = RYND_SIZED(
        rynd_detection, .head = task->settings->head ? task->head.name : NULL, .names = task->names,
        .outputs = task->outputs, .output_count = task->output_count, .height = task->height,
        .width = task->width, .index = picture->index, .frame = &picture->frame,
        .score = task->settings->score, .overlap = task->settings->overlap);
    return rynd_detect(task->setup.context, &detection, boxes, count) == RYND_OK
               ? true
               : cli_fail_library(failure);
}

static bool finish(cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    enum { MOST = 1000 };
    size_t count = MOST;
    rynd_box *boxes = malloc(MOST * sizeof *boxes);
    bool done = boxes ? cli_task_find_boxes(task, picture, boxes, &count, failure)
                      : cli_fail_memory(failure);
    if (done && picture->json) {
        add_json(task, picture->json, boxes, count);
    } else if (done) {
        summarise(task, picture, boxes, count);
    }
    done = done && draw(task, picture, boxes, count, failure);
    if (done && !picture->json && task->file_count == 1) {
        cli_progress_end(&task->progress);
        done = print_boxes(task, boxes, count, failure);
        putchar('\n');
    }
    free(boxes);
    return done;
}

const cli_task_kind cli_task_detect = {
    .name = "detect",
    .fit = RYND_FIT_LETTERBOX,
    .usual = 640,
    .writes = true,
    .open = open,
    .finish = finish,
};
