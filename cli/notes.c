/* SPDX-License-Identifier: Apache-2.0 */
/* Prints notes, details and the library's messages. */
#include "notes.h"

#include <stdarg.h>
#include <stdio.h>

static void say(const char *format, va_list args) __attribute__((format(printf, 1, 0)));

static void say(const char *format, va_list args)
{
    char text[1024];
    vsnprintf(text, sizeof text, format, args);
    fprintf(stderr, "rynd: %s\n", text);
}

void cli_note(const cli_common *common, const char *format, ...)
{
    if (!common->quiet) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
}

void cli_detail(const cli_common *common, const char *format, ...)
{
    if (common->verbose) {
        va_list args;
        va_start(args, format);
        say(format, args);
        va_end(args);
    }
}

void cli_log(void *user, int level, const char *message)
{
    if (level == 0) {
        cli_note(user, "%s", message);
    } else {
        cli_detail(user, "%s", message);
    }
}
