/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the annotation files of COCO: {"images", "annotations", "categories"}. Pictures and classes
 * are in the order of their ids. */
#include "box_list.h"
#include "folder_list.h"
#include "input_file.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LARGEST = 1 << 30 }; /* bytes of a file */

/* An element of a list of the file: its id, and what it is called. */
typedef struct item {
    int64_t id;
    const char *name;
} item;

typedef struct items {
    const char *list; /* "images" */
    item *all;        /* sorted by id */
    size_t count;
} items;

/* Where an object belongs. */
typedef struct owned {
    size_t picture, order;
    rynd_object object;
} owned;

typedef struct reading {
    const char *path;
    items images, categories;
    owned *objects;
    size_t count;
} reading;

static bool number_of(const cJSON *object, const char *key, double *value)
{
    const cJSON *found = cJSON_GetObjectItemCaseSensitive(object, key);
    *value = cJSON_IsNumber(found) ? found->valuedouble : 0;
    return cJSON_IsNumber(found);
}

/* A whole number that a double holds exactly. */
static bool id_of(const cJSON *object, const char *key, int64_t *id)
{
    double value;
    const bool whole =
        number_of(object, key, &value) && fabs(value) <= 0x1p53 && value == floor(value);
    *id = whole ? (int64_t)value : 0;
    return whole;
}

static int by_id(const void *a, const void *b)
{
    const item *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

static const cJSON *list_of(const reading *r, const cJSON *document, const char *name,
                            cli_failure *failure)
{
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(document, name);
    if (cJSON_IsArray(list)) {
        return list;
    }
    cli_fail(failure, "'%s' has no list \"%s\"; give a COCO file of objects (instances)", r->path,
             name);
    return NULL;
}

/* Reads ids and names of a list; `key`: of the name. */
static bool take_items(const reading *r, const cJSON *document, const char *name, const char *key,
                       items *to, cli_failure *failure)
{
    const cJSON *list = list_of(r, document, name, failure), *each;
    if (!list) {
        return false;
    }
    to->list = name;
    to->all = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *to->all);
    if (!to->all) {
        return cli_fail_memory(failure);
    }
    cJSON_ArrayForEach(each, list)
    {
        int64_t id;
        const cJSON *text = cJSON_GetObjectItemCaseSensitive(each, key);
        if (!id_of(each, "id", &id) || !cJSON_IsString(text)) {
            return cli_fail(failure, "'%s': %s[%zu] has no whole number \"id\" or no text \"%s\"",
                            r->path, name, to->count, key);
        }
        to->all[to->count++] = (item){id, text->valuestring};
    }
    qsort(to->all, to->count, sizeof *to->all, by_id);
    for (size_t i = 1; i < to->count; i++) {
        if (to->all[i].id == to->all[i - 1].id) {
            return cli_fail(failure, "'%s': two of \"%s\" have the id %" PRId64, r->path, name,
                            to->all[i].id);
        }
    }
    return true;
}

/* The index of the id that an annotation names. */
static bool find_id(const reading *r, const cJSON *each, const char *key, const items *in,
                    size_t *index, cli_failure *failure)
{
    item wanted = {.name = NULL};
    if (!id_of(each, key, &wanted.id)) {
        return cli_fail(failure, "'%s': annotations[%zu] has no whole number \"%s\"", r->path,
                        r->count, key);
    }
    const item *found = bsearch(&wanted, in->all, in->count, sizeof *in->all, by_id);
    *index = found ? (size_t)(found - in->all) : 0;
    return found ? true
                 : cli_fail(failure,
                            "'%s': annotations[%zu] has %s %" PRId64 ", which is not in \"%s\"",
                            r->path, r->count, key, wanted.id, in->list);
}

static bool take_box(const reading *r, const cJSON *each, rynd_object *object, cli_failure *failure)
{
    double *const to[] = {&object->left, &object->top, &object->width, &object->height};
    const cJSON *box = cJSON_GetObjectItemCaseSensitive(each, "bbox");
    for (int i = 0; i < 4; i++) {
        const cJSON *number = cJSON_GetArrayItem(box, i);
        if (!cJSON_IsNumber(number)) {
            return cli_fail(failure,
                            "'%s': annotations[%zu] has no \"bbox\" of four numbers: left, top, "
                            "width, height",
                            r->path, r->count);
        }
        *to[i] = number->valuedouble;
    }
    double crowd;
    object->area = number_of(each, "area", &object->area) ? object->area : -1;
    object->crowd = number_of(each, "iscrowd", &crowd) && crowd != 0;
    return true;
}

static bool take_objects(reading *r, const cJSON *document, cli_failure *failure)
{
    const cJSON *list = list_of(r, document, "annotations", failure), *each;
    if (!list) {
        return false;
    }
    r->objects = calloc((size_t)cJSON_GetArraySize(list) + 1, sizeof *r->objects);
    if (!r->objects) {
        return cli_fail_memory(failure);
    }
    cJSON_ArrayForEach(each, list)
    {
        owned *to = &r->objects[r->count];
        size_t label;
        if (!find_id(r, each, "image_id", &r->images, &to->picture, failure) ||
            !find_id(r, each, "category_id", &r->categories, &label, failure) ||
            !take_box(r, each, &to->object, failure)) {
            return false;
        }
        to->object.label = (int64_t)label;
        to->order = r->count++;
    }
    return true;
}

static int by_picture(const void *a, const void *b)
{
    const owned *x = a, *y = b;
    return x->picture != y->picture ? (x->picture < y->picture ? -1 : 1)
                                    : (x->order > y->order) - (x->order < y->order);
}

static bool keep_pictures(cli_box_list *data, const reading *r, const char *folder,
                          cli_failure *failure)
{
    data->files = calloc(r->images.count + 1, sizeof *data->files);
    for (size_t i = 0; data->files && i < r->images.count; i++) {
        data->files[i] = cli_path_join(folder, r->images.all[i].name);
        if (!data->files[i]) {
            return cli_fail_memory(failure);
        }
        data->count++;
        if (access(data->files[i], R_OK) != 0) {
            return cli_fail(failure, "'%s', which '%s' lists, cannot be read: %s", data->files[i],
                            r->path, strerror(errno));
        }
    }
    return data->files ? true : cli_fail_memory(failure);
}

static bool keep_classes(cli_box_list *data, const reading *r, cli_failure *failure)
{
    data->classes = calloc(r->categories.count + 1, sizeof *data->classes);
    for (size_t i = 0; data->classes && i < r->categories.count; i++) {
        data->classes[i] = strdup(r->categories.all[i].name);
        if (!data->classes[i]) {
            return cli_fail_memory(failure);
        }
        data->class_count++;
    }
    return data->classes ? true : cli_fail_memory(failure);
}

static bool keep_objects(cli_box_list *data, reading *r, cli_failure *failure)
{
    data->objects = calloc(r->count + 1, sizeof *data->objects);
    data->first = calloc(data->count + 1, sizeof *data->first);
    if (!data->objects || !data->first) {
        return cli_fail_memory(failure);
    }
    qsort(r->objects, r->count, sizeof *r->objects, by_picture);
    for (size_t i = 0; i < r->count; i++) {
        data->objects[i] = r->objects[i].object;
        data->first[r->objects[i].picture + 1] = i + 1;
    }
    for (size_t i = 1; i <= data->count; i++) {
        data->first[i] = data->first[i] ? data->first[i] : data->first[i - 1];
    }
    return true;
}

/* As the caller says, or found. */
static bool keep_pictures_of(cli_box_list *data, const reading *r, const char *folder,
                             cli_failure *failure)
{
    const char *first = r->images.count ? r->images.all[0].name : "";
    char *found = folder ? NULL : cli_coco_folder(r->path, first);
    if (!folder && !found) {
        return cli_fail(failure,
                        "'%s' lists the picture '%s', which is neither beside it nor in 'images' "
                        "or '../images'; put the pictures there",
                        r->path, first);
    }
    const bool done = keep_pictures(data, r, folder ? folder : found, failure);
    free(found);
    return done;
}

static bool take_document(cli_box_list *data, reading *r, const cJSON *document, const char *folder,
                          cli_failure *failure)
{
    return take_items(r, document, "images", "file_name", &r->images, failure) &&
           take_items(r, document, "categories", "name", &r->categories, failure) &&
           take_objects(r, document, failure) && keep_pictures_of(data, r, folder, failure) &&
           keep_classes(data, r, failure) && keep_objects(data, r, failure);
}

bool cli_coco_read(cli_box_list *data, const char *path, const char *folder, cli_failure *failure)
{
    reading r = {.path = path};
    const char *end = NULL;
    char *text = cli_input_text(path, LARGEST, failure);
    if (!text) {
        return false;
    }
    cJSON *document = cJSON_ParseWithOpts(text, &end, 1);
    const bool done = document
                          ? take_document(data, &r, document, folder, failure)
                          : cli_fail(failure, "'%s' is no JSON: it is broken at byte %zu of %zu",
                                     path, end ? (size_t)(end - text) : 0, strlen(text));
    cJSON_Delete(document);
    free(text);
    free(r.images.all);
    free(r.categories.all);
    free(r.objects);
    return done;
}
