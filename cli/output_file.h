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

/* A file that is written piece by piece: a temporary file in the same folder, which is renamed over
 * `path` (over what a symbolic link points to) at the end. What is there already and is not a
 * regular file (a pipe, a device) is written to directly. The temporary file is removed when
 * writing fails, and when a signal that can be caught ends the process (ending.h).
 *
 *   done = cli_output_begin(&output, path, failure);
 *   done = done && cli_output_put(&output, bytes, size) && ...;
 *   return cli_output_end(&output, done, failure) && done; */
typedef struct cli_output {
    const char *path;      /* borrowed: for messages */
    char *real, *aside;    /* NULL: it is written directly */
    int descriptor, cause; /* errno of the first failure */
} cli_output;

bool cli_output_begin(cli_output *output, const char *path, cli_failure *failure);
/* After a failure nothing is written any more; cli_output_end tells why. */
bool cli_output_put(cli_output *output, const void *bytes, size_t size);
/* Gives the file its name. Removes it if `done` is false, or if writing failed: then it says why.
 */
bool cli_output_end(cli_output *output, bool done, cli_failure *failure);

/* All at once. */
bool cli_file_write(const char *path, const void *data, size_t size, cli_failure *failure);

#endif
