/* SPDX-License-Identifier: Apache-2.0 */
/* The pictures that `rynd run --task` is given, and the files that it writes. */
#ifndef CLI_TASK_FILES_H
#define CLI_TASK_FILES_H

#include "options.h"

/* Files of -i: a folder stands for its pictures. Free each, and the list. */
bool cli_task_list(const cli_list *inputs, char ***files, size_t *count, cli_failure *failure);

/* Can -o take the results of so many pictures? Makes its folder. `map`: an .npy is possible. */
bool cli_task_check_output(const char *output, size_t pictures, bool map, cli_failure *failure);

/* "OUTPUT", or in a folder the picture's name with the suffix: "OUTPUT/cat.jpg". A name in `used`
 * gets a number behind it; what is returned is added there. free() it; NULL: out of memory. */
char *cli_task_file(const char *output, const char *picture, const char *suffix, char ***used,
                    size_t *used_count);

#endif
