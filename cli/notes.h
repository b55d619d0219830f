/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says besides results: on standard error, prefixed with "rynd: ". */
#ifndef CLI_NOTES_H
#define CLI_NOTES_H

#include "options.h"

/* Sets the level: --quiet is errors only, --verbose everything; without them RYND_LOG says it
 * (error, warn, info, debug). Warnings when nothing does. */
bool cli_notes_set_level(cli_common *common, cli_failure *failure);

/* Said from level warn on. */
void cli_note(const cli_common *common, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Said from level info on. */
void cli_detail(const cli_common *common, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* rynd_log_function: `user` is the cli_common. */
void cli_log(void *user, int level, const char *message);

#endif
