/* SPDX-License-Identifier: Apache-2.0 */
/* What --help prints: usage, text, examples, and the options in groups. Lines have at most 100
 * columns. */
#ifndef CLI_HELP_H
#define CLI_HELP_H

#include "options.h"

void cli_print_help(const cli_command *command);

#endif
