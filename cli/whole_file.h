/* SPDX-License-Identifier: Apache-2.0 */
/* Files as a whole: read into memory, and written completely or not at all. */
#ifndef CLI_WHOLE_FILE_H
#define CLI_WHOLE_FILE_H

#include "failure.h"

#include <stddef.h>

typedef struct cli_bytes {
    void *data; /* aligned to 64 bytes; free() it */
    size_t size;
} cli_bytes;

/* Refuses folders and empty files. The messages name the file. */
bool cli_file_read(const char *path, cli_bytes *bytes, cli_failure *failure);

/* Writes a temporary file in the same folder, then renames it over `path` (over what a symbolic link points to). What is there already and is
 * not a regular file (a pipe, a device) is written to directly. */
bool cli_file_write(const char *path, const void *data, size_t size, cli_failure *failure);

bool cli_is_folder(const char *path);

/* The text after the last '.' of the last part of a path, or "". */
const char *cli_extension(const char *path);

#endif
