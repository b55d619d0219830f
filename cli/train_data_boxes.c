/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures with boxes: an annotation file of COCO, or DIR/images/NAME.jpg with DIR/labels/NAME.txt
 * in YOLO's form. */
#include "box_list.h"
#include "files.h"
#include "folder_list.h"
#include "train_data.h"

#include <stdlib.h>
#include <string.h>

typedef struct box_data {
    cli_box_list list;
    bool fractions; /* boxes are fractions of the picture */
} box_data;

/* The largest number of boxes of a picture, without crowds, which nobody learns. */
static size_t most_boxes(const cli_box_list *list)
{
    size_t most = 1;
    for (size_t i = 0; i < list->count; i++) {
        size_t count = 0;
        for (size_t k = list->first[i]; k < list->first[i + 1]; k++) {
            count += !list->objects[k].crowd;
        }
        most = count > most ? count : most;
    }
    return most;
}

static void add_content(cli_dataset *set, const cli_box_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *end = strrchr(list->files[i], '/');
        char *folder = end ? strndup(list->files[i], (size_t)(end - list->files[i])) : NULL;
        cli_dataset_add_file(set, folder ? folder : ".", end ? end + 1 : list->files[i]);
        free(folder);
    }
    for (size_t i = 0; i < list->first[list->count]; i++) {
        const rynd_object *o = &list->objects[i];
        const double numbers[] = {o->left, o->top, o->width, o->height, (double)o->label, o->crowd};
        cli_dataset_add_content(set, numbers, sizeof numbers);
    }
}

static bool finish(cli_dataset *set, cli_failure *failure)
{
    box_data *own = set->own;
    cli_box_list *list = &own->list;
    if (list->count == 0 || list->first[list->count] == 0) {
        return cli_fail(failure, "'%s' has no %s", set->path,
                        list->count == 0 ? "picture" : "box: there is nothing to learn");
    }
    set->count = list->count;
    set->most_boxes = most_boxes(list);
    set->classes = list->classes;
    set->class_count = list->class_count;
    list->classes = NULL; /* they are the set's now */
    add_content(set, list);
    return true;
}

static bool begin(cli_dataset *set, cli_failure *failure)
{
    set->most_boxes = 1;
    set->own = calloc(1, sizeof(box_data));
    return set->own || cli_fail_memory(failure);
}

/* --- COCO --- */

static bool open_coco(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    (void)wish;
    return begin(set, failure) &&
           cli_coco_read(&((box_data *)set->own)->list, set->path, NULL, failure) &&
           finish(set, failure);
}

/* --- YOLO --- */

static bool open_yolo(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    (void)wish;
    if (!begin(set, failure)) {
        return false;
    }
    box_data *own = set->own;
    own->fractions = true;
    return cli_yolo_read(&own->list, set->path, &set->skipped, failure) && finish(set, failure);
}

/* --- both --- */

/* A box as a part of its picture; width 0: nothing of it is inside. */
static rynd_object inside(const rynd_object *object, bool fraction, const cli_image *image)
{
    const double wide = (double)image->width, tall = (double)image->height;
    const double x = fraction ? wide : 1, y = fraction ? tall : 1;
    rynd_object o = *object;
    const double left = object->left * x, top = object->top * y, right = left + object->width * x,
                 bottom = top + object->height * y;
    o.left = left > 0 ? left : 0;
    o.top = top > 0 ? top : 0;
    o.width = (right < wide ? right : wide) - o.left;
    o.height = (bottom < tall ? bottom : tall) - o.top;
    return o;
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    const box_data *own = set->own;
    const cli_box_list *list = &own->list;
    const size_t first = list->first[index], end = list->first[index + 1];
    *sample = (cli_sample){.label = -1, .name = list->files[index]};
    if (!cli_image_read(sample->name, NULL, &sample->picture, failure)) {
        return false;
    }
    sample->objects = calloc(end - first + 1, sizeof *sample->objects);
    for (size_t i = first; sample->objects && i < end; i++) {
        const rynd_object o = inside(&list->objects[i], own->fractions, &sample->picture);
        if (!o.crowd && o.width > 0 && o.height > 0) {
            sample->objects[sample->object_count++] = o;
        }
    }
    if (!sample->objects) {
        cli_sample_free(sample);
        return cli_fail_memory(failure);
    }
    return true;
}

static void close_boxes(cli_dataset *set)
{
    if (set->own) {
        cli_box_list_free(&((box_data *)set->own)->list);
    }
    free(set->own);
}

const cli_dataset_kind cli_data_coco = {
    .name = "pictures with boxes",
    .recognises = cli_is_coco,
    .open = open_coco,
    .read = read_sample,
    .close = close_boxes,
};

const cli_dataset_kind cli_data_yolo = {
    .name = "pictures with boxes",
    .recognises = cli_is_yolo,
    .open = open_yolo,
    .read = read_sample,
    .close = close_boxes,
};
