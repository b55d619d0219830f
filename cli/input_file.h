/* SPDX-License-Identifier: Apache-2.0 */
/* Files that are read: regular ones only, whose size is known before anything is read. What else
 * a name may stand for (a pipe, a device, a socket, a folder) is refused without waiting for it.
 * The messages name the file. */
#ifndef CLI_INPUT_FILE_H
#define CLI_INPUT_FILE_H

#include "bytes.h"
#include "failure.h"

/* A descriptor to be closed, at the beginning of `size` bytes, or -1. Refuses empty files. */
int cli_input_open(const char *path, size_t *size, cli_failure *failure);

/* The file's bytes where the system has them: pages come into memory when they are read, so a
 * file that is refused by its first bytes takes none. Read-only. */
bool cli_input_map(const char *path, cli_bytes *bytes, cli_failure *failure);
void cli_input_unmap(cli_bytes *bytes);
/* Lets the system drop the file's pages from memory; reading brings them back. */
void cli_input_unneeded(const cli_bytes *bytes);

/* All of a file of at most `most` bytes as text with a NUL behind it; free() it. NULL when it
 * fails. */
char *cli_input_text(const char *path, size_t most, cli_failure *failure);

#endif
