/* SPDX-License-Identifier: Apache-2.0 */
/* Prints notes, details and the library's messages. */
#include "notes.h"

#include "line.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    cli_line(stderr, "rynd: %s", text);
}

bool cli_notes_set_level(cli_common *common, cli_failure *failure)
{
    static const char *const words[CLI_LEVELS] = {"error", "warn", "info", "debug"};
    const char *wanted = getenv("RYND_LOG");
    int level = CLI_WARN;
    if (wanted && wanted[0]) {
        for (level = 0; level < CLI_LEVELS && strcmp(words[level], wanted) != 0; level++) {
        }
    }
    if (level == CLI_LEVELS) {
        return cli_fail_usage(failure, "RYND_LOG is '%s'; set it to error, warn, info or debug",
                              wanted);
    }
    common->level = common->quiet ? CLI_ERROR : common->verbose ? CLI_DEBUG : (cli_level)level;
    return true;
}

void cli_note(const cli_common *common, const char *format, ...)
{
    if (common->level >= CLI_WARN) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
}

void cli_detail(const cli_common *common, const char *format, ...)
{
    if (common->level >= CLI_INFO) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
}

void cli_log(void *user, int level, const char *message)
{
    const cli_common *common = user;
    if ((int)common->level > level) {
        cli_line(stderr, "rynd: %s", message);
    }
}
