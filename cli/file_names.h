/* SPDX-License-Identifier: Apache-2.0 */
/* Names of files: their parts, and names of values as names of files. */
#ifndef CLI_FILE_NAMES_H
#define CLI_FILE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

bool cli_is_folder(const char *path);

/* The text after the last '.' of the last part of a path, or "". */
const char *cli_extension(const char *path);

/* For each name one that every file system takes, with an extension behind it, and that leads to
 * no other folder: letters, digits, '-', '_' and '.' of ASCII, the first no '.', of 1 to 200
 * bytes and some digits. Everything else becomes '_'; what is another's name then gets its index
 * appended. The caller frees with cli_plain_names_free. NULL: out of memory. */
char **cli_plain_names(const char *const *names, size_t count);
void cli_plain_names_free(char **plain, size_t count);

#endif
