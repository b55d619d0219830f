/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of two folders, in pairs by their names without extensions. */
#ifndef CLI_FILE_PAIRS_H
#define CLI_FILE_PAIRS_H

#include "failure.h"

#include <stddef.h>

typedef struct cli_file_pairs {
    char **first, **second; /* paths; owned */
    size_t count;
} cli_file_pairs;

/* Lists both folders, sorted by names; at least one pair. A picture without another one fails, and
 * is named. */
bool cli_file_pairs_list(cli_file_pairs *pairs, const char *first, const char *second,
                         cli_failure *failure);
void cli_file_pairs_free(cli_file_pairs *pairs);

#endif
