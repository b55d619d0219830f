/* SPDX-License-Identifier: Apache-2.0 */
/* Names in a folder, and paths of them. */
#ifndef CLI_FOLDER_LIST_H
#define CLI_FOLDER_LIST_H

#include "failure.h"

#include <stdbool.h>
#include <stddef.h>

/* The names in a folder that `wanted` takes, without those that begin with a dot, sorted by their
 * bytes; free each, and the list. */
bool cli_folder_list(const char *folder, bool (*wanted)(const char *path, const char *name),
                     char ***names, size_t *count, cli_failure *failure);
void cli_names_free(char **names, size_t count);
/* A regular file with a picture's extension; a folder. */
bool cli_is_picture_file(const char *path, const char *name);
bool cli_is_inner_folder(const char *path, const char *name);
/* Turns each name into the path "folder/name". */
bool cli_names_join(const char *folder, char **names, size_t count, cli_failure *failure);
/* The folder "path/name"; free() it. NULL: no such folder, or no memory. */
char *cli_inner_folder(const char *path, const char *name);
/* "folder/name"; free() it. NULL: out of memory. */
char *cli_path_join(const char *folder, const char *name);

#endif
