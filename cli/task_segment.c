/* SPDX-License-Identifier: Apache-2.0 */
/* --task segment: the class of each pixel, as colours over the picture and as a map. */
#include "files.h"
#include "json_out.h"
#include "table.h"
#include "task_kinds.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES = 65536 };

static bool open(cli_task *task, cli_failure *failure)
{
    enum { VOC = 21 };
    rynd_value_info info = RYND_SIZED(rynd_value_info);
    if (task->output_count < 1) {
        return cli_fail(failure, "the model has no output");
    }
    if (rynd_model_get_output(task->setup.model, 0, &info) != RYND_OK) {
        return cli_fail_library(failure);
    }
    const bool voc = info.rank == 4 && (info.dim[1] == VOC || info.dim[3] == VOC);
    return task->labels.count > 0 || !voc || cli_labels_open(&task->labels, "voc", failure);
}

/* Pixels of each class. NULL: out of memory. */
static int64_t *count_classes(const cli_tensor *map)
{
    const uint16_t *pixels = map->view.data;
    int64_t *counts = calloc(CLASSES, sizeof *counts);
    for (int64_t i = 0; counts && i < rynd_tensor_elements(&map->view); i++) {
        counts[pixels[i]]++;
    }
    return counts;
}

static bool tell(cli_task *task, cli_task_picture *picture, const cli_tensor *map,
                 cli_failure *failure)
{
    static const char *const head[] = {"class", "index", "pixels", "share"};
    const double all = (double)rynd_tensor_elements(&map->view);
    int64_t *counts = count_classes(map);
    if (!counts) {
        return cli_fail_memory(failure);
    }
    cJSON *list = picture->json ? cJSON_AddArrayToObject(picture->json, "classes") : NULL;
    cli_table table;
    cli_table_begin(&table, "lrrr", head);
    size_t found = 0;
    for (int64_t c = 0; c < CLASSES; c++) {
        const char *name = cli_label_of(&task->labels, c);
        if (counts[c] == 0) {
            continue;
        }
        if (list) {
            cJSON *item = cli_json_object_in(list);
            cli_json_number(item, "label", (double)c);
            cli_json_text(item, "name", name);
            cli_json_number(item, "pixels", (double)counts[c]);
            cli_json_number(item, "share", (double)counts[c] / all);
            continue;
        }
        cli_table_add(&table, "%s", name ? name : "");
        cli_table_add(&table, "%" PRId64, c);
        cli_table_add(&table, "%" PRId64, counts[c]);
        cli_table_add(&table, "%.1f %%", 100 * (double)counts[c] / all);
        cli_task_say(picture, "%s%.40s%s%" PRId64 " %.1f%%", found++ ? ", " : "", name ? name : "",
                     name ? " " : "", c, 100 * (double)counts[c] / all);
    }
    free(counts);
    cli_progress_end(&task->progress);
    return cli_table_print(&table, !list && task->file_count == 1 ? stdout : NULL)
               ? true
               : cli_fail_memory(failure);
}

/* The map as grey values, where a byte holds every class. */
static bool write_map(cli_task *task, cli_task_picture *picture, const cli_tensor *map,
                      cli_failure *failure)
{
    const uint16_t *pixels = map->view.data;
    cli_task_picture grey = {.file = picture->file, .json = picture->json};
    if (!cli_image_make(&grey.image, map->view.dim[0], map->view.dim[1], 1, picture->file,
                        failure)) {
        return false;
    }
    bool fits = true;
    for (int64_t i = 0; i < rynd_tensor_elements(&map->view); i++) {
        grey.image.pixels[i] = pixels[i];
        fits = fits && pixels[i] < 256;
    }
    const bool done = !fits || cli_task_write(task, &grey, "_classes", failure);
    cli_image_free(&grey.image);
    return done;
}

static bool write_all(cli_task *task, cli_task_picture *picture, const cli_tensor *map,
                      cli_failure *failure)
{
    const char *output = task->settings->output, *name = "classes";
    const double opacity = task->settings->opacity != 0 ? task->settings->opacity : 0.5;
    if (!output) {
        return true;
    }
    if (cli_output_kind(output) == CLI_FILE_TENSORS) {
        if (picture->json) {
            cli_json_text(picture->json, "classes_file", output);
        }
        return cli_tensors_write(task->setup.context, output, &map->view, &name, 1, failure);
    }
    const rynd_tensor photo = cli_image_view(&picture->image);
    if (cli_output_kind(output) == CLI_FILE_NONE && !write_map(task, picture, map, failure)) {
        return false; /* a folder */
    }
    return rynd_draw_classes(&photo, &map->view, opacity) == RYND_OK
               ? cli_task_write(task, picture, "", failure)
               : cli_fail_library(failure);
}

bool cli_task_find_map(const cli_task *task, const cli_task_picture *picture, cli_tensor *map,
                       cli_failure *failure)
{
    const int64_t dim[] = {picture->frame.height, picture->frame.width};
    if (!cli_tensor_make(map, RYND_DTYPE_U16, 2, dim, failure)) {
        return false;
    }
    if (rynd_segment(task->setup.context, &task->outputs[0], picture->index, &picture->frame,
                     task->height, task->width, &map->view) == RYND_OK) {
        return true;
    }
    cli_fail_library(failure);
    return cli_fail_prefix(failure, "output '%s': ", task->names[0]);
}

static bool finish(cli_task *task, cli_task_picture *picture, cli_failure *failure)
{
    cli_tensor map = {.memory = NULL};
    const bool done = cli_task_find_map(task, picture, &map, failure) &&
                      tell(task, picture, &map, failure) && write_all(task, picture, &map, failure);
    cli_tensor_free(&map);
    return done;
}

const cli_task_kind cli_task_segment = {
    .name = "segment",
    .fit = RYND_FIT_STRETCH,
    .shorter = 520, /* as torchvision's references */
    .writes = true,
    .open = open,
    .finish = finish,
};
