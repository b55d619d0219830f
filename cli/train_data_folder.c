/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in folders, one folder a class: DIR/CLASS/PICTURE. Classes and pictures are in the order
 * of their names' bytes. Other files, folders in classes and pictures outside of them are skipped,
 * and counted. */
#include "file_names.h"
#include "files.h"
#include "train_data.h"

#include "folder_list.h"
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    char *path;
    size_t label;
} entry;

typedef struct folder {
    entry *entries;
    size_t room;
} folder;

static bool recognises(const char *path)
{
    return cli_is_folder(path);
}

static bool add_picture(cli_dataset *set, const char *class_path, const char *name, size_t label,
                        cli_failure *failure)
{
    folder *own = set->own;
    if (set->count == own->room) {
        entry *grown = realloc(own->entries, (2 * own->room + 64) * sizeof *grown);
        if (!grown) {
            return cli_fail_memory(failure);
        }
        own->entries = grown;
        own->room = 2 * own->room + 64;
    }
    own->entries[set->count] = (entry){cli_path_join(class_path, name), label};
    return own->entries[set->count].path ? set->count++, true : cli_fail_memory(failure);
}

static bool add_class(cli_dataset *set, size_t label, cli_failure *failure)
{
    char **names = NULL, *path = cli_path_join(set->path, set->classes[label]);
    size_t count = 0;
    if (!path) {
        return cli_fail_memory(failure);
    }
    bool good = cli_folder_list(path, cli_is_picture_file, &names, &count, failure);
    if (good && count == 0) {
        good = cli_fail(failure,
                        "'%s' is a class without a picture (.png, .jpg); remove the folder, or "
                        "put pictures into it",
                        path);
    }
    cli_dataset_add_content(set, set->classes[label], strlen(set->classes[label]));
    for (size_t i = 0; good && i < count; i++) {
        cli_dataset_add_file(set, path, names[i]);
        good = add_picture(set, path, names[i], label, failure);
    }
    good = good && cli_skipped_count(&set->skipped, path, true, false, failure);
    cli_names_free(names, count);
    free(path);
    return good;
}

static bool open_folder(cli_dataset *set, const cli_data_wish *wish, cli_failure *failure)
{
    (void)wish;
    set->own = calloc(1, sizeof(folder));
    if (!set->own) {
        return cli_fail_memory(failure);
    }
    if (!cli_folder_list(set->path, cli_is_inner_folder, &set->classes, &set->class_count,
                         failure) ||
        !cli_skipped_count(&set->skipped, set->path, false, true, failure)) {
        return false;
    }
    for (size_t label = 0; label < set->class_count; label++) {
        if (!add_class(set, label, failure)) {
            return false;
        }
    }
    return set->count
               ? true
               : cli_fail(
                     failure,
                     "'%s' has no folder of pictures per class, no 'high' and 'low' for pairs, and "
                     "no 'images' with 'masks' or 'labels'",
                     set->path);
}

const char *cli_data_folder_path(const cli_dataset *set, size_t index, int64_t *label)
{
    const entry *e = &((const folder *)set->own)->entries[index];
    *label = (int64_t)e->label;
    return e->path;
}

static bool read_sample(const cli_dataset *set, size_t index, cli_sample *sample,
                        cli_failure *failure)
{
    *sample = (cli_sample){.label = 0};
    return cli_image_read(cli_data_folder_path(set, index, &sample->label), NULL, &sample->picture,
                          failure);
}

static void close_folder(cli_dataset *set)
{
    folder *own = set->own;
    for (size_t i = 0; own && i < set->count; i++) {
        free(own->entries[i].path);
    }
    if (own) {
        free(own->entries);
    }
    free(own);
}

const cli_dataset_kind cli_data_folder = {
    .name = "pictures in folders of classes",
    .recognises = recognises,
    .open = open_folder,
    .read = read_sample,
    .close = close_folder,
};
