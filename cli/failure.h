/* SPDX-License-Identifier: Apache-2.0 */
/* How functions of the command fail: they return false, and the message and the exit code are
 * written once, where the cause is known. */
#ifndef CLI_FAILURE_H
#define CLI_FAILURE_H

#include <stdbool.h>
#include <stddef.h>

#define CLI_EXIT_FAILED 1
#define CLI_EXIT_USAGE  2

typedef struct cli_failure {
    int exit_code; /* 0: nothing failed */
    char text[2048];
} cli_failure;

/* All return false. */
bool cli_fail(cli_failure *failure, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool cli_fail_usage(cli_failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool cli_fail_memory(cli_failure *failure); /* for the command's own memory */
/* "out of memory for 24883200 bytes (a picture of 1080x1920)": of what a file or an option makes
 * large; `what` in words. */
bool cli_fail_memory_for(cli_failure *failure, size_t size, const char *what, ...)
    __attribute__((format(printf, 3, 4)));
/* Takes the library's last message on this thread. */
bool cli_fail_library(cli_failure *failure);
/* Puts more in front of the message: the file, the option. */
bool cli_fail_prefix(cli_failure *failure, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
