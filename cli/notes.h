/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says besides results: on standard error, prefixed with "rynd: ". */
#ifndef CLI_NOTES_H
#define CLI_NOTES_H

#include "options.h"

/* Said unless --quiet. */
void cli_note(const cli_common *common, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Said with --verbose only. */
void cli_detail(const cli_common *common, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* rynd_log: `user` is the cli_common. */
void cli_log(void *user, int level, const char *message);

#endif
