/* SPDX-License-Identifier: Apache-2.0 */
/* Sorted lists of the names in a folder. */
#include "folder_list.h"

#include "file_names.h"
#include "files.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

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

char *cli_inner_folder(const char *path, const char *name)
{
    char *inner = cli_path_join(path, name);
    if (inner && !cli_is_folder(inner)) {
        free(inner);
        inner = NULL;
    }
    return inner;
}

bool cli_names_join(const char *folder, char **names, size_t count, cli_failure *failure)
{
    for (size_t i = 0; i < count; i++) {
        char *path = cli_path_join(folder, names[i]);
        if (!path) {
            return cli_fail_memory(failure);
        }
        free(names[i]);
        names[i] = path;
    }
    return true;
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
