/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are written: completely or not at all. */
#ifndef CLI_OUTPUT_FILE_H
#define CLI_OUTPUT_FILE_H

#include "failure.h"

#include <stddef.h>

/* Is there something at `path` that is neither a regular file nor a folder: a pipe or a device? */
bool cli_file_is_special(const char *path);

/* Fails where a file of this name could not be written: for work that takes hours before it does.
 */
bool cli_file_check_writable(const char *path, cli_failure *failure);

/* Writes a temporary file in the same folder, then renames it over `path` (over what a symbolic
 * link points to). What is there already and is not a regular file (a pipe, a device) is written
 * to directly. The temporary file is removed when writing fails, and when a signal that can be
 * caught ends the process (ending.h). */
bool cli_file_write(const char *path, const void *data, size_t size, cli_failure *failure);

#endif
