/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures with boxes, by the files that annotate them: COCO's JSON, or a text for each picture in
 * YOLO's form. */
#ifndef CLI_BOX_LIST_H
#define CLI_BOX_LIST_H

#include "failure.h"
#include "skipped_files.h"

#include <rynd/eval.h>

typedef struct cli_box_list {
    char **files; /* pictures */
    size_t count;
    rynd_object *objects; /* picture i has objects[first[i]] to objects[first[i + 1]] */
    size_t *first;
    char **classes; /* names by label */
    size_t class_count;
} cli_box_list;

/* Is it a file of JSON? Has the folder 'images' and 'labels'? */
bool cli_is_coco(const char *path);
bool cli_is_yolo(const char *path);

/* Reads an annotation file of COCO, boxes in pixels. folder: of the pictures; NULL: beside the
 * file, in "images", or as in COCO's own folders (box_files.c). The caller frees, also when this
 * fails. */
bool cli_coco_read(cli_box_list *list, const char *path, const char *folder, cli_failure *failure);

/* Reads DIR/images and DIR/labels, boxes in fractions of the picture. Names of classes are the
 * lines of classes.txt or the names of data.yaml, in DIR or above it; without them numbers. */
bool cli_yolo_read(cli_box_list *list, const char *path, cli_skipped_files *skipped,
                   cli_failure *failure);

void cli_box_list_free(cli_box_list *list);

/* Finds the folder of an annotation file's pictures by the first picture's name; free() it. NULL:
 * not found, or out of memory. */
char *cli_coco_folder(const char *path, const char *picture);

#endif
