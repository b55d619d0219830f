/* SPDX-License-Identifier: Apache-2.0 */
/* Files of a folder that are not read, counted by the ends of their names. */
#ifndef CLI_SKIPPED_FILES_H
#define CLI_SKIPPED_FILES_H

#include "failure.h"

#include <stddef.h>

enum { CLI_SKIPPED_KINDS = 6, CLI_SKIPPED_TEXT = 256 };

typedef struct cli_skipped_kind {
    char end[16]; /* ".txt"; "folders"; "" for names without an end */
    size_t count;
} cli_skipped_kind;

typedef struct cli_skipped_files {
    cli_skipped_kind kinds[CLI_SKIPPED_KINDS]; /* by their first files */
    size_t kind_count, others;                 /* others: of further kinds */
} cli_skipped_files;

/* Counts what a folder has beside pictures, and, where folders are read, beside those; hidden names
 * are left out. */
bool cli_skipped_count(cli_skipped_files *skipped, const char *folder, bool pictures, bool folders,
                       cli_failure *failure);
/* "3 .txt, 1 folder": empty if there is none. */
void cli_skipped_say(const cli_skipped_files *skipped, char text[CLI_SKIPPED_TEXT]);

#endif
