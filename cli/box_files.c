/* SPDX-License-Identifier: Apache-2.0 */
/* Data with boxes by its names, and where the pictures of an annotation file are. */
#include "box_list.h"
#include "file_names.h"
#include "folder_list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Behind the file's folder; split: the last word of its name follows, "val2017" of
 * instances_val2017.json. */
static const struct {
    const char *inner;
    bool split;
} places[] = {
    {"", false}, {"/images", false}, {"/../images", false}, {"/..", true}, {"/../images", true}};

static bool has_picture(const char *folder, const char *picture)
{
    char *path = cli_path_join(folder, picture);
    const bool found = path && access(path, R_OK) == 0;
    free(path);
    return found;
}

char *cli_coco_folder(const char *path, const char *picture)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *under = strrchr(name, '_'), *split = under ? under + 1 : name;
    const size_t room = 2 * strlen(path) + 32;
    char *folder = malloc(room);
    for (size_t i = 0; folder && i < sizeof places / sizeof *places; i++) {
        snprintf(folder, room, "%.*s%s%s%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".",
                 places[i].inner, places[i].split ? "/" : "",
                 places[i].split ? (int)strcspn(split, ".") : 0, split);
        if (has_picture(folder, picture)) {
            return folder;
        }
    }
    free(folder);
    return NULL;
}

bool cli_is_coco(const char *path)
{
    return strcasecmp(cli_extension(path), "json") == 0 && !cli_is_folder(path);
}

bool cli_is_yolo(const char *path)
{
    char *images = cli_inner_folder(path, "images"), *labels = cli_inner_folder(path, "labels");
    const bool both = images && labels;
    free(images);
    free(labels);
    return both;
}
