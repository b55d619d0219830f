/* SPDX-License-Identifier: Apache-2.0 */
/* The table of readers, and lists of files. */
#include "train_data.h"

#include "file_names.h"
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* In this order they are asked. */
static const cli_dataset_kind *const kinds[] = {&cli_data_pairs, &cli_data_folder, &cli_data_npz,
                                                &cli_data_idx};

bool cli_dataset_open(cli_dataset *set, const char *path, const cli_data_wish *wish,
                      cli_failure *failure)
{
    struct stat about;
    *set = (cli_dataset){.path = path};
    if (stat(path, &about) != 0) {
        return cli_fail(failure, "'%s' cannot be read: %s", path, strerror(errno));
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (kinds[i]->recognises(path)) {
            set->kind = kinds[i];
            if (!set->kind->open(set, wish, failure)) {
                cli_dataset_close(set);
                return false;
            }
            return true;
        }
    }
    return cli_fail(
        failure,
        "'%s' is no training data: give a folder with one folder of pictures per class, a "
        "folder with 'high' (and 'low'), an .npz of x and y, or an IDX file of pictures",
        path);
}

void cli_dataset_add_content(cli_dataset *set, const void *bytes, size_t size)
{
    const uint64_t prime = UINT64_C(0x9e3779b97f4a7c15);
    uint64_t hash = (set->content ^ size) * prime, word;
    const char *at = bytes;
    for (; size > 0; at += sizeof word) {
        const size_t part = size < sizeof word ? size : sizeof word;
        word = 0;
        memcpy(&word, at, part);
        hash = (hash ^ word) * prime;
        hash ^= hash >> 29;
        size -= part;
    }
    set->content = hash;
}

void cli_dataset_add_file(cli_dataset *set, const char *folder, const char *name)
{
    struct stat about;
    char *path = cli_path_join(folder, name);
    const int64_t size = path && stat(path, &about) == 0 ? (int64_t)about.st_size : -1;
    free(path);
    cli_dataset_add_content(set, name, strlen(name));
    cli_dataset_add_content(set, &size, sizeof size);
}

void cli_dataset_close(cli_dataset *set)
{
    if (set->kind) {
        set->kind->close(set);
        cli_names_free(set->classes, set->classes ? set->class_count : 0);
    }
    *set = (cli_dataset){0};
}

void cli_sample_free(cli_sample *sample)
{
    cli_image_free(&sample->picture);
    cli_image_free(&sample->target);
}

void cli_names_free(char **names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(names[i]);
    }
    free(names);
}

char *cli_path_join(const char *folder, const char *name)
{
    const size_t length = strlen(folder), room = length + strlen(name) + 2;
    char *path = malloc(room);
    if (path) {
        snprintf(path, room, "%s%s%s", folder, length && folder[length - 1] == '/' ? "" : "/",
                 name);
    }
    return path;
}

bool cli_is_picture_file(const char *path, const char *name)
{
    struct stat about;
    return cli_input_kind(name) == CLI_FILE_IMAGE && stat(path, &about) == 0 &&
           S_ISREG(about.st_mode);
}

bool cli_is_inner_folder(const char *path, const char *name)
{
    (void)name;
    return cli_is_folder(path);
}

static int by_bytes(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds a name to the list where it is wanted. */
static bool consider(const char *folder, const char *name,
                     bool (*wanted)(const char *path, const char *name), char ***names,
                     size_t *count, size_t *room)
{
    char *path = *name == '.' ? NULL : cli_path_join(folder, name);
    if (!path) {
        return *name == '.';
    }
    const bool take = wanted(path, name);
    free(path);
    if (!take) {
        return true;
    }
    if (*count == *room) {
        char **grown = realloc(*names, (2 * *room + 16) * sizeof *grown);
        if (!grown) {
            return false;
        }
        *names = grown;
        *room = 2 * *room + 16;
    }
    (*names)[*count] = strdup(name);
    return (*names)[*count] && ++*count;
}

bool cli_folder_list(const char *folder, bool (*wanted)(const char *path, const char *name),
                     char ***names, size_t *count, cli_failure *failure)
{
    size_t room = 0;
    bool good = true;
    *names = NULL;
    *count = 0;
    DIR *listing = opendir(folder);
    if (!listing) {
        return cli_fail(failure, "'%s' cannot be read: %s", folder, strerror(errno));
    }
    for (const struct dirent *entry = NULL; good && (entry = readdir(listing)) != NULL;) {
        good = consider(folder, entry->d_name, wanted, names, count, &room);
    }
    closedir(listing);
    if (!good) {
        cli_names_free(*names, *count);
        *names = NULL;
        *count = 0;
        return cli_fail_memory(failure);
    }
    if (*count) {
        qsort(*names, *count, sizeof **names, by_bytes);
    }
    return true;
}
