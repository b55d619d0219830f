/* SPDX-License-Identifier: Apache-2.0 */
/* Writes failure messages. */
#include "failure.h"

#include <rynd/rynd.h>
#include <stdarg.h>
#include <stdio.h>

static void set(cli_failure *failure, int exit_code, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

static void set(cli_failure *failure, int exit_code, const char *format, va_list args)
{
    failure->exit_code = exit_code;
    vsnprintf(failure->text, sizeof failure->text, format, args);
}

bool cli_fail(cli_failure *failure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(failure, CLI_EXIT_FAILED, format, args);
    va_end(args);
    return false;
}

bool cli_fail_usage(cli_failure *failure, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    set(failure, CLI_EXIT_USAGE, format, args);
    va_end(args);
    return false;
}

bool cli_fail_memory(cli_failure *failure)
{
    return cli_fail(failure, "out of memory");
}

bool cli_fail_memory_for(cli_failure *failure, size_t size, const char *what, ...)
{
    char text[512];
    va_list args;
    va_start(args, what);
    vsnprintf(text, sizeof text, what, args);
    va_end(args);
    return cli_fail(failure, "out of memory for %zu bytes (%s)", size, text);
}

bool cli_fail_library(cli_failure *failure)
{
    return cli_fail(failure, "%s", rynd_last_error());
}

bool cli_fail_prefix(cli_failure *failure, const char *format, ...)
{
    cli_failure old = *failure;
    va_list args;
    va_start(args, format);
    int written = vsnprintf(failure->text, sizeof failure->text, format, args);
    va_end(args);
    size_t used = written < 0 ? 0 : (size_t)written;
    if (used < sizeof failure->text) {
        snprintf(failure->text + used, sizeof failure->text - used, "%s", old.text);
    }
    return false;
}
